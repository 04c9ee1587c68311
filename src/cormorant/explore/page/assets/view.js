// Zooming and panning of a drawing by wheel, drag, pinch, buttons and keys.

const ZOOM_STEP = 1.4;
const FURTHEST = 12;
const DRAG_PIXELS = 4; // a shorter way is a click

class View {
  /** `bounds`: what must be visible when all is shown; `redraw`: called after every change. */
  constructor(surface, bounds, redraw) {
    Object.assign(this, { surface, bounds, redraw, zoom: 1, x: 0, y: 0, pointers: new Map(), dragged: false });
    surface.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    surface.addEventListener("pointerdown", (event) => this.down(event));
    surface.addEventListener("pointermove", (event) => this.move(event));
    for (const end of ["pointerup", "pointercancel"]) surface.addEventListener(end, (event) => this.up(event));
    // A drag that ends on a node is no click on it.
    surface.addEventListener("click", (event) => this.dragged && event.stopImmediatePropagation(), true);
    new ResizeObserver(() => this.resized()).observe(surface);
  }

  get scale() {
    return this.base * this.zoom;
  }

  toScreen(x, y) {
    return [x * this.scale + this.x, y * this.scale + this.y];
  }

  /** A surface that comes back as it was (from behind another tab) keeps its zoom. */
  resized() {
    const { width, height } = this.surface.getBoundingClientRect();
    if (width !== this.width || height !== this.height) this.fit();
  }

  /** Everything in sight. */
  fit() {
    const { width, height } = this.surface.getBoundingClientRect();
    if (!width || !height) return;
    Object.assign(this, { width, height, zoom: 1 });
    const { left, top, right, bottom } = this.bounds(width);
    this.base = Math.min(width / (right - left), height / (bottom - top));
    this.x = width / 2 - (this.base * (left + right)) / 2;
    this.y = height / 2 - (this.base * (top + bottom)) / 2;
    this.redraw();
  }

  /** Zooms so that the point (x, y) of the screen stays where it is. */
  zoomAt(factor, x = this.width / 2, y = this.height / 2) {
    const zoom = clamp(this.zoom * factor, 0.6, FURTHEST);
    const change = zoom / this.zoom;
    this.x = x - (x - this.x) * change;
    this.y = y - (y - this.y) * change;
    this.zoom = zoom;
    this.redraw();
  }

  pan(dx, dy) {
    this.x += dx;
    this.y += dy;
    this.redraw();
  }

  /** Brings a point of the drawing into sight, if it is not. */
  reveal(x, y, margin = 40) {
    const [sx, sy] = this.toScreen(x, y);
    const dx = clamp(sx, margin, this.width - margin) - sx;
    const dy = clamp(sy, margin, this.height - margin) - sy;
    if (dx || dy) this.pan(dx, dy);
  }

  wheel(event) {
    event.preventDefault();
    const { left, top } = this.surface.getBoundingClientRect();
    this.zoomAt(Math.exp(-clamp(event.deltaY, -100, 100) / 300), event.clientX - left, event.clientY - top);
  }

  down(event) {
    if (!this.pointers.size) this.dragged = false;
    this.pointers.set(event.pointerId, { x: event.clientX, y: event.clientY, way: 0 });
  }

  move(event) {
    const pointer = this.pointers.get(event.pointerId);
    if (!pointer) return;
    if (!event.buttons) return this.up(event); // it was let go outside
    const [dx, dy] = [event.clientX - pointer.x, event.clientY - pointer.y];
    const before = this.spread();
    Object.assign(pointer, { x: event.clientX, y: event.clientY, way: pointer.way + Math.hypot(dx, dy) });
    if (pointer.way > DRAG_PIXELS && !this.dragged) {
      this.dragged = true;
      this.surface.setPointerCapture(event.pointerId);
    }
    if (!this.dragged) return;
    this.pan(dx / this.pointers.size, dy / this.pointers.size);
    const after = this.spread();
    if (before && after) this.zoomAt(after.distance / before.distance, after.x, after.y);
  }

  up(event) {
    this.pointers.delete(event.pointerId);
  }

  /** Distance and middle of two fingers, or null. */
  spread() {
    if (this.pointers.size !== 2) return null;
    const [a, b] = this.pointers.values();
    const { left, top } = this.surface.getBoundingClientRect();
    return { distance: Math.hypot(a.x - b.x, a.y - b.y) || 1, x: (a.x + b.x) / 2 - left, y: (a.y + b.y) / 2 - top };
  }
}
