// Look-up of rows; only a page that `cormorant.explore.serve` shows can ask.

const LARGE_SHARE = 0.05; // components that stand out in the views
const PLACE_OF = new Map(COMPONENTS.map(({ number }, at) => [number, at]));

async function ask(path) {
  const answer = await fetch(path, { headers: { Accept: "application/json" } });
  const content = await answer.json();
  if (!answer.ok) throw new Error(content.error);
  return content;
}

/** A sentence for the reader about a question that failed. */
const failure = (error) =>
  error instanceof TypeError ? "The server does not answer; has it been stopped?" : error.message;

function startLookup() {
  byId("lookup").hidden = !DATA.served;
  if (!DATA.served) return;
  startCombobox("lookup", {
    find: async (query) => {
      try {
        const { rows, total } = await ask(`api/rows?query=${encodeURIComponent(query)}`);
        const left = total - rows.length;
        const note = rows.length ? left && `and ${left.toLocaleString("en")} more` : "No row has such a name or number.";
        return { items: rows.map(rowHit), note };
      } catch (error) {
        return { items: [], note: failure(error) };
      }
    },
  });
}

const rowHit = ({ row, name }) => ({
  content: [element("span", { class: "hit" }, nameOf(name)), element("span", { class: "kicker" }, `row ${row}`)],
  choose: () => showRow(row),
});

async function showRow(row) {
  try {
    const profile = await ask(`api/row/${row}`);
    const large = profile.components.filter(({ share, component }) => share >= LARGE_SHARE && PLACE_OF.has(component));
    update({ row: profile, selected: null, matches: new Set(large.map(({ component }) => PLACE_OF.get(component))) });
  } catch (error) {
    update({ row: { row, name: `row ${row}`, error: failure(error) } });
  }
}

function rowDetails(profile) {
  if (profile.error) return [head("Row", profile.name), element("p", { class: "none" }, profile.error)];
  return [
    head(profile.name === `row ${profile.row}` ? "Row" : `Row ${profile.row}`, profile.name),
    section("Components", profileList(profile.components)),
    ...(profile.shows ? [section("Shows most", shareList(profile.shows, "count"))] : []),
    ...(profile.next ? [section("Would show next", shareList(profile.next, "probability"))] : []),
  ];
}

/** The row's components with the share of its counts that each explains. */
function profileList(components) {
  const line = ({ component, share }) =>
    element(
      "li",
      {},
      PLACE_OF.has(component) ? componentButton(PLACE_OF.get(component)) : `component ${component}`,
      bar(share),
      element("span", { class: "number" }, percent(share))
    );
  return element("ol", { class: "bars" }, ...components.map(line));
}

/** Columns of a row with a number each: counts, or probabilities. */
function shareList(columns, key) {
  const most = Math.max(...columns.map((column) => column[key]), Number.MIN_VALUE);
  const line = (column) =>
    element(
      "li",
      {},
      nameOf(column.name),
      bar(column[key] / most),
      element("span", { class: "number" }, key === "count" ? column[key].toLocaleString("en") : percent(column[key]))
    );
  return element("ol", { class: "bars columns" }, ...columns.map(line));
}
