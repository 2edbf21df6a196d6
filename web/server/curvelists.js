// The lists of a curve, as the server answers it: each has a value for a point.
export const LISTS = ['steps', 'times', 'min', 'max', 'mean', 'counts', 'nonfinite'];
