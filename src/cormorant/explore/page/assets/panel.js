// The details beside the views: of the selected component, of a row, or of the whole model.

const PARTNERS = 6;

function startPanel() {
  const panel = byId("panel");
  listen((_, change) => {
    if (!["selected", "row"].some((key) => key in change)) return;
    const inside = panel.contains(document.activeElement);
    panel.replaceChildren(...details());
    panel.scrollTop = 0;
    if (inside) panel.focus({ preventScroll: true }); // the button that was pressed is gone
    announce();
    if (state.selected !== null || state.row) bringIntoSight(panel);
  });
  panel.replaceChildren(...details());
}

function details() {
  if (state.row) return rowDetails(state.row);
  return state.selected === null ? overview() : componentDetails(COMPONENTS[state.selected], state.selected);
}

function announce() {
  const what = state.row ? `row ${state.row.name}` : state.selected === null ? "" : COMPONENTS[state.selected].label;
  byId("announcement").textContent = what && `Details of ${what}`;
}

/** On a narrow screen the details are below the views. */
function bringIntoSight(panel) {
  if (matchMedia("(max-width: 860px)").matches) panel.scrollIntoView({ block: "start" });
}

function head(kicker, name, ...facts) {
  return element(
    "div",
    { class: "head" },
    element("p", { class: "kicker" }, kicker),
    element("button", { type: "button", class: "close", "aria-label": "Close the details", onclick: clearSelection }, "×"),
    element("h2", {}, nameOf(name)),
    ...facts.map((fact) => element("p", { class: "fact" }, fact))
  );
}

function componentDetails(component, at) {
  const sections = [
    head(`Component ${component.number}`, component.label, `${percent(component.share)} of the ${DATA.shareOf}`),
    columnSection(component),
  ];
  if (RHO) {
    const list = (sign, none) => {
      const found = partners(at, sign, PARTNERS);
      return found.length ? partnerList(found, at) : element("p", { class: "none" }, none);
    };
    sections.push(
      section("Goes together with", list(1, "No component goes together with it.")),
      section("Avoids", list(-1, "It avoids no component."))
    );
  }
  sections.push(section("Representative rows", component.rows.length ? rowList(component.rows) : noRows()));
  sections.push(section("Weight", sticksPlot()));
  return sections;
}

const noRows = () => element("p", { class: "none" }, "The model keeps no weights of its rows.");

/** The columns, by frequency or by distinctiveness; a column that was searched for is added to either. */
function columnSection(component) {
  const place = element("div");
  const show = (kind) => {
    place.replaceChildren(columnList(withSearched(component[kind], state.column), state.column));
    for (const button of choice.children) button.setAttribute("aria-pressed", button.dataset.kind === kind);
  };
  const button = (kind, text) =>
    element("button", { type: "button", "data-kind": kind, onclick: () => show(kind) }, text);
  const choice = element(
    "div",
    { class: "choice", role: "group", "aria-label": "Which columns" },
    button("columns", "Largest"),
    button("distinctive", "Most distinctive")
  );
  show("columns");
  return section("Columns", choice, place);
}

/** The entries, and below them the column that was searched for, where it is not among them. */
function withSearched(entries, column) {
  if (column === null || entries.some(([listed]) => listed === column)) return entries;
  const { share, held } = homeOf(COLUMN_AT.get(column));
  return [...entries, [column, share, held]];
}

function overview() {
  const how = RHO
    ? "Choose a component in the graph, in the heatmap, in the list, or by search."
    : "Choose a component in the list or by search.";
  const sections = [element("p", { class: "hint" }, how), section("Weights", sticksPlot())];
  if (RHO) {
    const { positive, negative } = DATA.correlations.pairs;
    if (positive.length) sections.push(section("Most often together", pairList(positive)));
    if (negative.length) sections.push(section("Most apart", pairList(negative)));
  }
  return sections;
}
