// The components as a list: the same choice without a drawing.

const CARD_COLUMNS = 8;

function startCards() {
  const cards = COMPONENTS.map(makeCard);
  const list = element("ol", { class: "cards" }, ...cards.map((card) => element("li", {}, card)));
  const nothing = element("p", { class: "none", hidden: "" }, "No component matches the search.");
  byId("view-components").append(nothing, list);
  listen(() => {
    cards.forEach((card, at) => {
      card.setAttribute("aria-pressed", at === state.selected);
      card.parentElement.hidden = state.matches !== null && !state.matches.has(at);
    });
    nothing.hidden = state.matches === null || state.matches.size > 0;
  });
}

function makeCard(component, at) {
  const columns = component.columns.slice(0, CARD_COLUMNS).map(([column]) => columnName(column));
  return element(
    "button",
    { type: "button", class: "card", "aria-pressed": "false", onclick: () => select(at) },
    element("span", { class: "kicker" }, `Component ${component.number} · ${percent(component.share)} of the ${DATA.shareOf}`),
    bar(component.share / COMPONENTS[0].share),
    element("span", { class: "card-columns" }, ...columns.flatMap((name, rank) => [rank ? "\u00a0· " : "", nameOf(name)]))
  );
}
