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
    ...(profile.shows ? [section(isReal(profile) ? "Furthest from the background" : "Shows most", shareList(profile.shows))] : []),
    ...(profile.next ? [section("Would show next", shareList(profile.next))] : []),
    ...(profile.missing ? [section("Missing, and expected", shareList(profile.missing))] : []),
  ];
}

const isReal = ({ shows }) => shows.some((column) => "value" in column);

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

/** How the numbers of columns are told, by what they are. */
const TOLD = {
  count: (count) => count.toLocaleString("en"),
  probability: percent,
  value: (value) => shortNumber(value),
  expected: (value) => shortNumber(value),
};

const shortNumber = (value) => Number(value.toPrecision(3)).toLocaleString("en", { maximumSignificantDigits: 3 }).replace("-", "−");

/** Columns of a row with a number each: counts, real numbers, what is expected, or probabilities. */
function shareList(columns) {
  const numbers = columns.map((column) => {
    const kind = Object.keys(TOLD).find((key) => key in column);
    return { name: column.name, text: TOLD[kind](column[kind]), size: column.size ?? column[kind] };
  });
  const most = Math.max(...numbers.map(({ size }) => size), Number.MIN_VALUE);
  const line = ({ name, text, size }) =>
    element("li", {}, nameOf(name), bar(size / most), element("span", { class: "number" }, text));
  return element("ol", { class: "bars columns" }, ...numbers.map(line));
}
