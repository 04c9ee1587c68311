// The heatmap: one pixel of a canvas a pair, enlarged; components that go together are side by side.

const LABELLED_CELL = 12; // pixels of a cell that has room for a label
const LABEL_SHARE = 0.45; // of the width: labels take what they need, but not more
const LABEL_ROOM = 10; // around a label
const NARROW = 420; // a screen without room for labels beside the cells

class Heatmap {
  constructor(box) {
    Object.assign(this, { box, order: DATA.correlations.order, n: COMPONENTS.length, cursor: null });
    this.canvas = byId("heatmap-cells");
    this.canvas.width = this.canvas.height = this.n;
    new ResizeObserver(() => this.resize()).observe(box.parentElement);
    box.addEventListener("keydown", (event) => this.key(event));
    box.addEventListener("focus", () => this.cursor ?? this.point(0, 0));
    for (const name of ["pointermove", "pointerdown"])
      this.canvas.addEventListener(name, (event) => this.point(...this.cellAt(event)));
    this.canvas.addEventListener("click", (event) => select(this.order[this.cellAt(event)[0]]));
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.paint());
  }

  /** The largest square that fits, with labels where a line of text is no higher than a cell. */
  resize() {
    const width = this.box.parentElement.clientWidth;
    if (!width || width === this.width) return;
    this.width = width;
    const height = Math.max(window.innerHeight - 230, 280);
    const longest = Math.max(...COMPONENTS.map(({ label }) => textWidth(label, true)));
    const labels = Math.min(Math.ceil(longest) + LABEL_ROOM, LABEL_SHARE * width);
    const side = Math.min(width - labels, Math.max(height, LABELLED_CELL * this.n));
    const labelled = width > NARROW && side / this.n >= LABELLED_CELL;
    this.left = labelled ? labels : 0;
    this.side = labelled ? side : Math.min(width, height);
    this.cell = this.side / this.n;
    Object.assign(this.canvas.style, { width: `${this.side}px`, height: `${this.side}px`, marginLeft: `${this.left}px` });
    this.drawLabels();
    this.paint();
    this.mark();
  }

  drawLabels() {
    const labels = byId("heatmap-labels");
    labels.setAttribute("width", this.left);
    labels.setAttribute("height", this.side);
    const texts = this.left ? this.order.map((component, row) => this.makeLabel(component, row)) : [];
    labels.replaceChildren(...texts);
  }

  makeLabel(component, row) {
    const size = Math.min(LABEL_FONT, 0.92 * this.cell);
    return svgElement(
      "text",
      {
        x: this.left - 6,
        y: (row + 0.5) * this.cell + 0.35 * size,
        "font-size": size,
        class: component === state.selected ? "strong" : null,
        onclick: () => select(component),
      },
      fitText(COMPONENTS[component].label, this.left - LABEL_ROOM)
    );
  }

  paint() {
    const context = this.canvas.getContext("2d");
    const image = context.createImageData(this.n, this.n);
    const colours = { none: themeColour("--surface"), neutral: themeColour("--neutral") };
    const ends = { positive: themeColour("--together"), negative: themeColour("--apart") };
    this.order.forEach((a, row) =>
      this.order.forEach((b, column) => {
        const rho = RHO[a][b];
        const end = rho > 0 ? ends.positive : ends.negative;
        const colour = a === b ? colours.none : mix(colours.neutral, end, Math.abs(rho));
        image.data.set([...colour, 255], 4 * (row * this.n + column));
      })
    );
    context.putImageData(image, 0, 0);
  }

  cellAt(event) {
    const { left, top } = this.canvas.getBoundingClientRect();
    const at = (offset) => clamp(Math.floor(offset / this.cell), 0, this.n - 1);
    return [at(event.clientY - top), at(event.clientX - left)];
  }

  point(row, column) {
    this.cursor = [row, column];
    this.mark();
    byId("heatmap-reading").replaceChildren(...pairReading(this.order[row], this.order[column]));
  }

  key(event) {
    const direction = KEYS[event.key];
    const [row, column] = this.cursor ?? [0, 0];
    if (direction) {
      const at = (place, step) => clamp(place + step, 0, this.n - 1);
      this.point(at(row, direction[1]), at(column, direction[0]));
    } else if (event.key === "Enter" || event.key === " ") select(this.order[row]);
    else return;
    event.preventDefault();
  }

  /** The cell pointed at, and the row of the selected component. */
  mark() {
    const { left, cell, side } = this;
    if (this.cursor) {
      const [row, column] = this.cursor;
      frame(byId("heatmap-cursor"), left + column * cell, row * cell, cell, cell);
    }
    const row = this.order.indexOf(state.selected);
    byId("heatmap-band").hidden = row < 0;
    if (row >= 0) frame(byId("heatmap-band"), left, row * cell, side, cell);
  }

  selectionChanged() {
    if (!this.side) return;
    this.drawLabels();
    this.mark();
  }
}

/** Lays a frame around a rectangle, large enough to be seen. */
function frame(node, left, top, width, height) {
  node.hidden = false;
  const grow = Math.max(0, 5 - height) / 2;
  const pixels = { left: left - grow, top: top - grow, width: width + 2 * grow, height: height + 2 * grow };
  for (const [name, value] of Object.entries(pixels)) node.style[name] = `${value}px`;
}

/** What the pair means, in words. */
function pairReading(a, b) {
  if (a === b) return [nameOf(COMPONENTS[a].label)];
  const rho = RHO[a][b];
  const meaning = Math.abs(rho) < 0.005 ? "are independent" : rho > 0 ? "go together" : "avoid each other";
  return [nameOf(COMPONENTS[a].label), " and ", nameOf(COMPONENTS[b].label), ` ${meaning}: ${signed(rho)}`];
}

/** A colour of the style sheet as red, green and blue in the theme of the moment. */
function themeColour(name) {
  const probe = element("i");
  probe.style.color = `var(${name})`;
  document.body.append(probe);
  pen.fillStyle = getComputedStyle(probe).color;
  probe.remove();
  const code = parseInt(pen.fillStyle.slice(1), 16);
  return [code >> 16, (code >> 8) & 255, code & 255];
}

const mix = (from, to, share) => from.map((value, channel) => Math.round(value + (to[channel] - value) * share));

function startHeatmap() {
  const heatmap = new Heatmap(byId("heatmap"));
  listen((_, change) => ("theme" in change ? heatmap.paint() : heatmap.selectionChanged()));
}
