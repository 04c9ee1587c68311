// What is chosen at the moment. Views listen and draw themselves; none knows another.

const state = {
  selected: null, // place of a component in COMPONENTS
  column: null, // column to point out in the selected component
  row: null, // profile of a row that was looked up
  matches: null, // Set of components that stand out: found by the search, or those of the row
  threshold: DATA.correlations?.threshold ?? 1,
  shown: { positive: true, negative: true },
};

const listeners = [];
const listen = (listener) => listeners.push(listener);

/** Changes the state and tells every view. */
function update(change) {
  Object.assign(state, change);
  for (const listener of listeners) listener(state, change);
}

const select = (component, column = null) => update({ selected: component, column, row: null, matches: null });
const clearSelection = () => update({ selected: null, column: null, row: null, matches: null });

/** The pairs that the threshold and the two signs let through. */
function shownEdges() {
  const end = EDGES.findIndex((edge) => Math.abs(edge.rho) < state.threshold);
  const strong = end < 0 ? EDGES : EDGES.slice(0, end);
  return strong.filter((edge) => (edge.rho > 0 ? state.shown.positive : state.shown.negative));
}
