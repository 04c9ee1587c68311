// The sticks: all weights by size, up to the truncation, with the selected component pointed out.

const STICKS_HEIGHT = 60;

function sticksPlot() {
  const { weights, components, inUse } = DATA.sticks;
  const most = weights[0] || 1;
  const bar = (at) => {
    const height = Math.max((STICKS_HEIGHT * weights[at]) / most, 0.6);
    return `M${at + 0.1} ${STICKS_HEIGHT}v${-height}h.8v${height}z`;
  };
  const bars = (kind, wanted) =>
    svgElement("path", { class: kind, d: [...weights.keys()].filter(wanted).map(bar).join("") });
  const chosen = state.selected === null ? -1 : components.indexOf(state.selected);
  const plot = svgElement(
    "svg",
    { viewBox: `0 0 ${weights.length} ${STICKS_HEIGHT}`, preserveAspectRatio: "none", role: "img", "aria-label": reading(chosen) },
    bars("in-use", (at) => components[at] >= 0 && at !== chosen),
    bars("not-in-use", (at) => components[at] < 0),
    bars("chosen", (at) => at === chosen)
  );
  plot.addEventListener("click", (event) => {
    const { left, width } = plot.getBoundingClientRect();
    const component = components[Math.floor(((event.clientX - left) / width) * weights.length)];
    if (component >= 0) select(component);
  });
  const caption = `${inUse} of ${weights.length} components in use, by weight`;
  return element(
    "figure",
    { class: "sticks" },
    plot,
    element("figcaption", {}, chosen < 0 ? caption : `${reading(chosen)}; ${caption}`)
  );
}

const reading = (at) =>
  at < 0
    ? "weights of the components by size"
    : `weight ${DATA.sticks.weights[at].toPrecision(3)}, number ${at + 1} of ${DATA.sticks.weights.length}`;
