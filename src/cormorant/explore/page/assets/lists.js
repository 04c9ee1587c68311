// Lists of the details: columns with bars, components to go on to, rows.

function section(heading, ...content) {
  return element("section", {}, element("h3", {}, heading), ...content);
}

/** A bar and its number; `share` of the width of the longest. */
function bar(share, kind = "") {
  const inner = element("i");
  inner.style.width = `${100 * clamp(share, 0, 1)}%`;
  return element("span", { class: `bar ${kind}`, "aria-hidden": "true" }, inner);
}

/** A line a column: name, bar, share of the component's counts. */
function columnList(entries, pointedOut = null) {
  const most = Math.max(...entries.map(([, share]) => share), Number.MIN_VALUE);
  const about = (held) => (DATA.shareOf === "counts" ? `${percent(held)} of this column's counts are here` : null);
  const line = ([column, share, held]) =>
    element(
      "li",
      { class: column === pointedOut ? "pointed" : null, title: about(held) },
      nameOf(columnName(column)),
      bar(share / most),
      element("span", { class: "number" }, percent(share))
    );
  return element("ol", { class: "bars columns" }, ...entries.map(line));
}

/** A button a component, with its correlation to another. */
function partnerList(components, from) {
  const line = (component) => {
    const rho = RHO[from][component];
    return element(
      "li",
      {},
      componentButton(component),
      bar(Math.abs(rho), rho > 0 ? "positive" : "negative"),
      element("span", { class: "number" }, signed(rho))
    );
  };
  return element("ol", { class: "bars" }, ...components.map(line));
}

function componentButton(component) {
  return element("button", { type: "button", class: "link", onclick: () => select(component) }, nameOf(COMPONENTS[component].label));
}

/** Rows that stand for a component; they can be opened where a server answers. */
function rowList(rows) {
  const line = ([row, name, share]) =>
    element(
      "li",
      {},
      DATA.rowsLinked
        ? element("button", { type: "button", class: "link", onclick: () => showRow(row) }, nameOf(name))
        : nameOf(name),
      bar(share),
      element("span", { class: "number" }, percent(share))
    );
  return element("ol", { class: "bars rows" }, ...rows.map(line));
}

/** The strongest pairs of one sign. */
function pairList(pairs) {
  const line = ([a, b]) =>
    element(
      "li",
      {},
      element("span", { class: "pair" }, componentButton(a), componentButton(b)),
      element("span", { class: "number" }, signed(RHO[a][b]))
    );
  return element("ol", { class: "pairs" }, ...pairs.map(line));
}
