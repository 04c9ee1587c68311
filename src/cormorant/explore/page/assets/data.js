// What the page knows, read once from the JSON in the page.

const DATA = JSON.parse(byId("data").textContent);
const COMPONENTS = DATA.components;
const COLUMN_AT = new Map(DATA.columns.ids.map((id, at) => [id, at]));
const RHO = DATA.correlations && symmetric(DATA.correlations.thousandths, COMPONENTS.length);
const EDGES = DATA.correlations ? allPairs() : [];

const columnName = (id) => DATA.columns.names[COLUMN_AT.get(id)];

/** The component that holds most of the column at a place of the index, and the shares of both. */
function homeOf(at) {
  const [component, share, held] = DATA.columns.homes[at];
  return { component, share, held };
}

/** The full matrix from the thousandths above the diagonal. */
function symmetric(thousandths, n) {
  const rows = Array.from({ length: n }, () => new Float32Array(n));
  let at = 0;
  for (let i = 0; i < n; i++) {
    rows[i][i] = 1;
    for (let j = i + 1; j < n; j++) rows[i][j] = rows[j][i] = thousandths[at++] / 1000;
  }
  return rows;
}

/** All pairs, the strongest first, so that those above a threshold are a beginning of the list. */
function allPairs() {
  const pairs = [];
  for (let i = 0; i < COMPONENTS.length; i++)
    for (let j = i + 1; j < COMPONENTS.length; j++) pairs.push({ i, j, rho: RHO[i][j] });
  return pairs.sort((a, b) => Math.abs(b.rho) - Math.abs(a.rho));
}

/** The n components most correlated with one, of one sign, the strongest first. */
function partners(component, sign, n) {
  const others = [...COMPONENTS.keys()].filter((other) => other !== component && sign * RHO[component][other] > 0);
  return others.sort((a, b) => sign * (RHO[component][b] - RHO[component][a])).slice(0, n);
}

/** Lower case without accents, so that a search for "cafe" finds "Café". */
const plain = (text) => text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();

const PLAIN_LABELS = COMPONENTS.map((component) => plain(component.label));
const PLAIN_COLUMNS = DATA.columns.names.map(plain);

/** Components whose label or number matches. */
function findComponents(query) {
  const wanted = plain(query);
  return [...COMPONENTS.keys()].filter(
    (at) => PLAIN_LABELS[at].includes(wanted) || String(COMPONENTS[at].number) === wanted
  );
}

/** Columns whose name matches: equal first, then beginnings, then anywhere. */
function findColumns(query) {
  const wanted = plain(query);
  const rank = (name) => (name === wanted ? 0 : name.startsWith(wanted) ? 1 : 2);
  return [...PLAIN_COLUMNS.keys()]
    .filter((at) => PLAIN_COLUMNS[at].includes(wanted))
    .sort((a, b) => rank(PLAIN_COLUMNS[a]) - rank(PLAIN_COLUMNS[b]) || a - b);
}
