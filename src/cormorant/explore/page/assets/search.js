// Search over components and columns: matches stand out in the views while one types. A column of exactly that name
// comes first, then components, then other columns.

const COMPONENT_HITS = 6;
const COLUMN_HITS = 12;

function startSearch() {
  startCombobox("search", {
    typed: (query) => update({ matches: query ? matchingComponents(query) : null }),
    find: (query) => {
      const components = findComponents(query);
      const columns = findColumns(query);
      const exact = columns.filter((at) => PLAIN_COLUMNS[at] === plain(query)).length;
      const hits = columns.slice(0, COLUMN_HITS).map(columnHit);
      const items = [
        ...hits.slice(0, exact),
        ...components.slice(0, COMPONENT_HITS).map(componentHit),
        ...hits.slice(exact),
      ];
      const left = components.length + columns.length - items.length;
      return { items, note: items.length ? left && `and ${left.toLocaleString("en")} more` : "Nothing found." };
    },
  });
}

/** Components with a matching label or number, and those that hold most of a matching column. */
function matchingComponents(query) {
  const holders = findColumns(query).map((at) => homeOf(at).component);
  return new Set([...findComponents(query), ...holders]);
}

const componentHit = (at) => ({
  content: [
    element("span", { class: "hit" }, nameOf(COMPONENTS[at].label)),
    element("span", { class: "kicker" }, `component ${COMPONENTS[at].number}`),
  ],
  choose: () => select(at),
});

const columnHit = (at) => {
  const home = homeOf(at).component;
  return {
    content: [
      element("span", { class: "hit" }, nameOf(DATA.columns.names[at])),
      element("span", { class: "kicker" }, "column, mostly in ", nameOf(COMPONENTS[home].label)),
    ],
    choose: () => select(home, DATA.columns.ids[at]),
  };
};
