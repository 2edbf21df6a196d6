// Which parameters matter for a metric, from the trials of a sweep: for each the share of the variance that it explains
// alone in a forest of regression trees, averaged over the other parameters (the part of first order of a functional
// analysis of variance, as in Hutter et al., 2014), and Spearman's correlation of ranks.

const TREES = 48;
const DEPTH = 8;
const LEAST_LEAF = 1;
const MOST_ROWS = 300;
const MOST_BAG = 400;
const MOST_VALUES = 24;

/** Below this number of trials nothing is said. */
export const LEAST_TRIALS = 8;

/** Numbers from 0 to 1, always the same. */
const randomFrom = (seed) => () => {
  seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
  return seed / 2 ** 32;
};

const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;
const variance = (values) => {
  const middle = mean(values);
  return mean(values.map((value) => (value - middle) ** 2));
};

/** The best split of the rows by one feature: {gain, at}; undefined if there is none. */
const splitBy = (rows, feature, ys) => {
  const sorted = rows.toSorted((a, b) => feature[a] - feature[b]);
  const total = sorted.reduce((sum, row) => sum + ys[row], 0);
  let best;
  let left = 0;
  for (let count = 1; count < sorted.length; ++count) {
    left += ys[sorted[count - 1]];
    const [a, b] = [feature[sorted[count - 1]], feature[sorted[count]]];
    if (a === b || count < LEAST_LEAF || sorted.length - count < LEAST_LEAF) continue;
    const gain = left ** 2 / count + (total - left) ** 2 / (sorted.length - count);
    if (!best || gain > best.gain) best = {gain, at: (a + b) / 2};
  }
  return best;
};

/** A tree: a number, or {feature, at, low, high}. */
const grow = (rows, features, ys, depth, random) => {
  const value = mean(rows.map((row) => ys[row]));
  if (depth === 0 || rows.length < 2 * LEAST_LEAF) return value;
  // Each split sees a part of the features, so that a strong one does not hide the others in all trees.
  const some = features.map((_, at) => at).filter(() => features.length < 3 || random() < 0.7);
  const splits = some.map((feature) => ({feature, ...splitBy(rows, features[feature], ys)}))
    .filter(({gain}) => gain !== undefined);
  if (!splits.length) return value;
  const best = splits.reduce((a, b) => (b.gain > a.gain ? b : a));
  const isLow = (row) => features[best.feature][row] <= best.at;
  return {
    feature: best.feature, at: best.at,
    low: grow(rows.filter(isLow), features, ys, depth - 1, random),
    high: grow(rows.filter((row) => !isLow(row)), features, ys, depth - 1, random),
  };
};

const predict = (tree, featureAt) => {
  while (typeof tree === 'object') tree = featureAt(tree.feature) <= tree.at ? tree.low : tree.high;
  return tree;
};

/** The places of numbers in their order, equal ones in the middle of theirs. */
const ranksOf = (values) => {
  const order = values.map((_, at) => at).sort((a, b) => values[a] - values[b]);
  const out = [];
  for (let from = 0; from < order.length;) {
    let to = from;
    while (to + 1 < order.length && values[order[to + 1]] === values[order[from]]) ++to;
    for (let at = from; at <= to; ++at) out[order[at]] = (from + to) / 2;
    from = to + 1;
  }
  return out;
};

/** Spearman's correlation; undefined for values that are not numbers or all the same. */
const rankCorrelation = (xs, ys) => {
  if (!xs.every((x) => typeof x === 'number')) return undefined;
  const [a, b] = [ranksOf(xs), ranksOf(ys)];
  const spread = Math.sqrt(variance(a) * variance(b));
  const [middleA, middleB] = [mean(a), mean(b)];
  return spread ? mean(a.map((rank, at) => (rank - middleA) * (b[at] - middleB))) / spread : undefined;
};

/** Numbers of a column: those of others are their places in their order by the mean of y. */
const featureOf = (values, ys) => {
  if (values.every((value) => typeof value === 'number')) return values;
  const groups = Map.groupBy(values.keys(), (at) => JSON.stringify(values[at] ?? null));
  const order = [...groups].map(([text, rows]) => ({text, mean: mean(rows.map((row) => ys[row]))}))
    .sort((a, b) => a.mean - b.mean);
  const places = new Map(order.map(({text}, at) => [text, at]));
  return values.map((value) => places.get(JSON.stringify(value ?? null)));
};

/** At most that many values, evenly from all. */
const spread = (values, most) => {
  if (values.length <= most) return values;
  return Array.from({length: most}, (_, at) => values[Math.floor(at * values.length / most)]);
};

/** columns: {name: values}; ys: numbers. [{name, share, correlation}], the most important first. */
export const importances = (columns, ys) => {
  const names = Object.keys(columns);
  const features = names.map((name) => featureOf(columns[name], ys));
  const random = randomFrom(1);
  const all = [...ys.keys()];
  const bag = all.slice(0, MOST_BAG);
  const forest = Array.from({length: TREES}, () =>
    grow(bag.map(() => Math.floor(random() * all.length)), features, ys, DEPTH, random));
  const rows = spread(all, MOST_ROWS);
  const answer = (featureAt) => mean(forest.map((tree) => predict(tree, featureAt)));
  const whole = variance(rows.map((row) => answer((feature) => features[feature][row])));
  const shareOf = (which) => {
    if (!whole) return 0;
    const values = spread(features[which].toSorted((a, b) => a - b), MOST_VALUES);
    const others = spread(rows, MOST_VALUES);
    return variance(values.map((value) => mean(others.map((row) =>
      answer((feature) => (feature === which ? value : features[feature][row])))))) / whole;
  };
  return names.map((name, at) => ({name, share: shareOf(at), correlation: rankCorrelation(columns[name], ys)}))
    .sort((a, b) => b.share - a.share);
};
