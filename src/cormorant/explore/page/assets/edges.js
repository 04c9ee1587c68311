// The way of an edge: straight, or bent around the nodes that it only passes; through one it would seem to end there.

const BENDS = [0, 0.04, -0.04, 0.08, -0.08, 0.14, -0.14]; // how far the middle is aside, of the length; tried in turn
const CLEAR = 3; // between a line and a node that it passes, in the units of the places
const PIECES = 12; // straight ones that stand for a bent line

/** The middle of a quadratic curve from `a` to `b` that passes the circles ([x, y, radius] each), or nearly does. */
function middleAround(a, b, circles) {
  let [best, most] = [null, -Infinity];
  for (const bend of BENDS) {
    const middle = [(a[0] + b[0]) / 2 + 2 * bend * (a[1] - b[1]), (a[1] + b[1]) / 2 + 2 * bend * (b[0] - a[0])];
    const free = clearance(points(a, middle, b, bend ? PIECES : 1), circles);
    if (free > most) [best, most] = [middle, free];
    if (most >= CLEAR) break;
  }
  return best;
}

/** Points along the curve. */
function points(a, middle, b, pieces) {
  return Array.from({ length: pieces + 1 }, (_, step) => {
    const t = step / pieces;
    return [0, 1].map((axis) => (1 - t) ** 2 * a[axis] + 2 * t * (1 - t) * middle[axis] + t ** 2 * b[axis]);
  });
}

/** How far the nearest circle is from a line through these points; negative where the line runs through it. */
function clearance(line, circles) {
  let least = Infinity;
  for (let piece = 1; piece < line.length; piece++) {
    const [[x, y], [ex, ey]] = [line[piece - 1], line[piece]];
    const [dx, dy] = [ex - x, ey - y];
    for (const [cx, cy, radius] of circles) {
      const along = clamp(((cx - x) * dx + (cy - y) * dy) / (dx * dx + dy * dy), 0, 1);
      least = Math.min(least, Math.hypot(cx - x - along * dx, cy - y - along * dy) - radius);
    }
  }
  return least;
}
