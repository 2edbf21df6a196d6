// Histograms of several steps over the same bins, so that they can stand next to each other.
import {Axis, boundsOf} from '../chart/axis.js';

/** Adds the counts of a histogram to bins that have the same width on the axis. The numbers of one of its own bins are
    taken to be spread evenly over it, as nothing else is known of them. */
const spread = ({edges, counts}, axis, bins) => {
  const out = new Float64Array(bins);
  const at = (edge) => Math.min(bins, Math.max(0, axis.place(edge) * bins));
  counts.forEach((count, own) => {
    const [from, to] = [at(edges[own]), at(edges[own + 1])];
    if (!(to > from)) {
      out[Math.min(bins - 1, Math.floor(from))] += count;
      return;
    }
    for (let bin = Math.floor(from); bin < to; ++bin) {
      out[bin] += count * (Math.min(to, bin + 1) - Math.max(from, bin)) / (to - from);
    }
  });
  return out;
};

/** histograms: {edges, counts}. Returns {edges, counts: a list for each histogram}; the bins reach from the least edge
    to the largest. */
export const inCommonBins = (histograms, bins) => {
  const [least, largest] = boundsOf(histograms.map(({edges}) => edges)) ?? [0, 1];
  const axis = new Axis(least, largest, false);
  return {
    edges: Array.from({length: bins + 1}, (_, at) => axis.value(at / bins)),
    counts: histograms.map((each) => spread(each, axis, bins)),
  };
};
