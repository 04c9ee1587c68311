// The correlation graph: nodes are components, edges the pairs above the threshold.

const NODE_MARGIN = 14;
const LABEL_MARGIN = 60; // beside the outermost nodes, on screens with room for it
const SMALLEST_RADIUS = 3.5;
const TOUCH_RADIUS = 11; // what a finger can hit, however small the node
const WIDTHS = [0.8, 1.5, 2.3, 3.2]; // of edges, from the threshold to correlation one
const LABEL_WIDTH = 260; // of a label that has no room as a whole
const KEYS = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1] };

class Graph {
  constructor(svg) {
    this.svg = svg;
    this.hovered = null;
    this.current = 0; // the node that the tab key comes to
    this.edges = svgElement("g", { class: "edges" });
    this.emphasis = svgElement("g", { class: "edges emphasis" });
    this.nodes = COMPONENTS.map((component, at) => this.makeNode(component, at));
    this.labels = COMPONENTS.map((_, at) => svgElement("text", { onclick: () => select(at), hidden: "" }));
    svg.append(
      this.edges,
      this.emphasis,
      svgElement("g", { class: "nodes" }, ...this.nodes),
      svgElement("g", { class: "labels" }, ...this.labels)
    );
    this.redraw = onceAFrame(() => this.draw());
    this.view = new View(svg, () => this.bounds(), this.redraw);
    svg.addEventListener("keydown", (event) => this.key(event));
    svg.addEventListener("click", (event) => event.target === svg && clearSelection());
  }

  makeNode({ label, share }, at) {
    return svgElement(
      "g",
      {
        class: "node",
        role: "button",
        tabindex: at === 0 ? 0 : -1,
        "aria-label": `${label}, ${percent(share)} of the ${DATA.shareOf}`,
        onclick: () => select(at),
        onfocus: () => this.focus(at),
        onblur: () => this.hover(null),
        onpointerenter: () => this.hover(at),
        onpointerleave: () => this.hover(null),
      },
      svgElement("circle", { class: "touch" }),
      svgElement("circle", { class: "dot" })
    );
  }

  /** Place of a node in the drawing; on a tall screen the long axis goes down. */
  place(at) {
    const [x, y] = DATA.correlations.places[at];
    return this.tall ? [y, x] : [x, y];
  }

  bounds() {
    const { width, height } = this.svg.getBoundingClientRect();
    this.tall = height > width;
    this.edgesStale = true;
    [this.circles, this.ways] = [null, new Map()]; // ways of edges depend on nothing but where nodes are
    const places = [...COMPONENTS.keys()].map((at) => this.place(at));
    const margins = [this.tall ? NODE_MARGIN : LABEL_MARGIN, NODE_MARGIN];
    const edge = (axis, sign) =>
      margins[axis] + Math.max(...places.map((place, at) => sign * place[axis] + DATA.correlations.radii[at]));
    return { left: -edge(0, -1), top: -edge(1, -1), right: edge(0, 1), bottom: edge(1, 1) };
  }

  radius(at) {
    return Math.max(DATA.correlations.radii[at] * this.view.base * Math.sqrt(this.view.zoom), SMALLEST_RADIUS);
  }

  draw() {
    if (!this.view.base) return; // not on the screen yet
    if (this.edgesStale) this.drawEdges();
    const { scale, x, y } = this.view;
    for (const group of [this.edges, this.emphasis])
      group.setAttribute("transform", `translate(${x} ${y}) scale(${scale})`);
    this.nodes.forEach((node, at) => this.drawNode(node, at));
    this.drawLabels();
  }

  drawNode(node, at) {
    const [x, y] = this.view.toScreen(...this.place(at));
    const radius = this.radius(at);
    node.setAttribute("transform", `translate(${x} ${y})`);
    node.firstChild.setAttribute("r", Math.max(radius, TOUCH_RADIUS));
    node.lastChild.setAttribute("r", radius);
    node.lastChild.style.fill = nodeColour(at);
    node.classList.toggle("selected", at === state.selected);
    node.setAttribute("aria-pressed", at === state.selected);
  }

  drawEdges() {
    this.edgesStale = false;
    if (!this.circles) {
      const least = SMALLEST_RADIUS / this.view.base;
      this.circles = COMPONENTS.map((_, at) => [...this.place(at), Math.max(DATA.correlations.radii[at], least)]);
    }
    const shown = shownEdges();
    const ofSelected = shown.filter(({ i, j }) => i === state.selected || j === state.selected);
    this.edges.replaceChildren(...this.paths(shown));
    this.emphasis.replaceChildren(...this.paths(ofSelected, 1));
    this.svg.classList.toggle("focused", state.selected !== null || state.matches !== null);
    byId("edge-count").textContent = counted(shown.length, "pair");
  }

  /** One path for each sign and step of strength: few elements, however many edges. */
  paths(edges, wider = 0) {
    const groups = Map.groupBy(edges, ({ rho }) => {
      const above = (Math.abs(rho) - state.threshold) / (1.001 - state.threshold);
      return `${rho > 0 ? "positive" : "negative"} ${Math.floor(WIDTHS.length * above)}`;
    });
    return [...groups].map(([key, group]) => {
      const [sign, step] = key.split(" ");
      const d = group.map(({ i, j }) => this.way(i, j)).join("");
      return svgElement("path", { class: sign, "stroke-width": WIDTHS[step] + wider, d });
    });
  }

  /** An edge as a curve around the nodes between its ends. */
  way(i, j) {
    const key = i * COMPONENTS.length + j;
    if (!this.ways.has(key)) {
      const [a, b] = [this.circles[i], this.circles[j]];
      const middle = middleAround(a, b, this.circles);
      this.ways.set(key, `M${a[0]} ${a[1]}Q${middle.join(" ")} ${b[0]} ${b[1]}`);
    }
    return this.ways.get(key);
  }

  drawLabels() {
    const order = this.labelOrder();
    const nodes = order.map((at) => {
      const [x, y] = this.view.toScreen(...this.place(at));
      const strong = at === this.hovered || at === state.selected;
      return { x, y, radius: this.radius(at), texts: labelTexts(at), strong, wanted: strong || inFocus(at) };
    });
    const boxes = placeLabels(nodes, this.view.width, this.view.height);
    order.forEach((at, rank) => this.drawLabel(this.labels[at], nodes[rank].strong, boxes[rank]));
  }

  drawLabel(label, strong, box) {
    label.toggleAttribute("hidden", !box);
    if (!box) return;
    label.textContent = box.text;
    label.setAttribute("x", box.left);
    label.setAttribute("y", box.top + LABEL_FONT);
    label.classList.toggle("strong", strong);
  }

  /** Components by importance of their labels: pointed at, chosen, related to the chosen, then by share. */
  labelOrder() {
    const importance = (at) => (at === this.hovered ? 3 : at === state.selected ? 2 : inFocus(at) ? 1 : 0);
    return [...COMPONENTS.keys()].sort((a, b) => importance(b) - importance(a) || a - b);
  }

  hover(at) {
    this.hovered = at;
    this.redraw();
  }

  focus(at) {
    this.nodes[this.current].setAttribute("tabindex", -1);
    this.nodes[at].setAttribute("tabindex", 0);
    this.current = at;
    this.hover(at);
  }

  key(event) {
    const direction = KEYS[event.key];
    if (direction) this.step(direction);
    else if (event.key === "Enter" || event.key === " ") select(this.current);
    else if (event.key === "+" || event.key === "=") this.view.zoomAt(ZOOM_STEP);
    else if (event.key === "-") this.view.zoomAt(1 / ZOOM_STEP);
    else if (event.key === "0") this.view.fit();
    else return;
    event.preventDefault();
  }

  /** To the nearest node in a direction; what lies aside counts as further away. */
  step([dx, dy]) {
    const [x, y] = this.place(this.current);
    let best = null;
    for (const at of COMPONENTS.keys()) {
      const [ox, oy] = this.place(at);
      const along = (ox - x) * dx + (oy - y) * dy;
      const aside = Math.abs((ox - x) * dy) + Math.abs((oy - y) * dx);
      const far = along + 2.5 * aside;
      if (along > 0 && (best === null || far < best.far)) best = { at, far };
    }
    if (best === null) return;
    this.view.reveal(...this.place(best.at));
    this.nodes[best.at].focus({ preventScroll: true });
  }
}

/** The label and, for where it is crowded, its first names, as long as no other label begins with them. */
const labelTexts = (() => {
  const known = new Map();
  const texts = ({ label }) => {
    const between = label.includes(", ") ? ", " : " ";
    const names = label.split(between);
    const beginnings = names.map((_, n) => names.slice(0, names.length - n).join(between));
    const alone = (text) => COMPONENTS.filter((other) => `${other.label}${between}`.startsWith(text + between)).length === 1;
    const wanted = beginnings.filter((text, n) => n === 0 || alone(text));
    return [...new Set([...wanted, ...wanted.map((text) => fitText(text, LABEL_WIDTH))])];
  };
  return (at) => {
    if (!known.has(at)) known.set(at, texts(COMPONENTS[at]));
    return known.get(at);
  };
})();

/** Whether a component matters at the moment: found by the search, or paired with the selected one. */
function inFocus(at) {
  if (state.matches !== null) return state.matches.has(at);
  if (state.selected === null || at === state.selected) return true;
  const rho = RHO[state.selected][at];
  return Math.abs(rho) >= state.threshold && (rho > 0 ? state.shown.positive : state.shown.negative);
}

/** Purple or orange by the correlation with the selected component; pale where it does not matter. */
function nodeColour(at) {
  if (at === state.selected) return "";
  const rho = state.selected === null ? 0 : RHO[state.selected][at];
  const share = Math.round(100 * Math.abs(rho) ** 0.7);
  const colour = `color-mix(in oklab, var(--${rho > 0 ? "together" : "apart"}) ${share}%, var(--node))`;
  return inFocus(at) ? colour : `color-mix(in oklab, ${colour} 28%, var(--surface))`;
}

function startGraph() {
  const graph = new Graph(byId("graph"));
  const slider = byId("threshold");
  slider.min = DATA.correlations.lowestThreshold;
  slider.value = state.threshold;
  slider.addEventListener("input", () => update({ threshold: Number(slider.value) }));
  for (const sign of ["positive", "negative"])
    byId(`show-${sign}`).addEventListener("change", (event) =>
      update({ shown: { ...state.shown, [sign]: event.target.checked } })
    );
  byId("zoom-in").addEventListener("click", () => graph.view.zoomAt(ZOOM_STEP));
  byId("zoom-out").addEventListener("click", () => graph.view.zoomAt(1 / ZOOM_STEP));
  byId("zoom-fit").addEventListener("click", () => graph.view.fit());
  const show = () => {
    byId("threshold-value").textContent = `±${state.threshold.toFixed(2)}`;
    graph.edgesStale = true;
    graph.redraw();
  };
  listen(show);
  show();
}
