// The way of an edge: straight, or bent around the nodes that it only passes; through one it would seem to end there.

const BENDS = [0, 0.04, -0.04, 0.08, -0.08, 0.14, -0.14]; // how far the middle is aside, of the length; tried in turn
const CLEAR = 3; // between a line and a node that it passes, in the units of the places
const PIECES = 12; // straight ones that stand for a bent line

/** The middle of a quadratic curve from `a` to `b` that passes the other circles ([x, y, radius] each), or nearly does. */
function middleAround(a, b, circles) {
  const others = within(a, b, circles);
  let [best, most] = [null, -Infinity];
  for (const bend of BENDS) {
    const middle = [(a[0] + b[0]) / 2 + 2 * bend * (a[1] - b[1]), (a[1] + b[1]) / 2 + 2 * bend * (b[0] - a[0])];
    const free = clearance(points(a, middle, b, bend ? PIECES : 1), others, most);
    if (free > most) [best, most] = [middle, free];
    if (most >= CLEAR) break;
  }
  return best;
}

/** Those that a bent line can come near to, but its ends: most are far away, and there is much to draw. */
function within(a, b, circles) {
  const [x, y] = [(a[0] + b[0]) / 2, (a[1] + b[1]) / 2];
  const [dx, dy] = [b[0] - x, b[1] - y];
  const [half, reach] = [Math.hypot(dx, dy), 2 * Math.max(...BENDS) * Math.hypot(dx, dy) + CLEAR];
  return circles.filter((circle) => {
    const [cx, cy, radius] = [circle[0] - x, circle[1] - y, circle[2]];
    const aside = Math.abs(cx * dy - cy * dx) / half;
    return circle !== a && circle !== b && aside < reach + radius && Math.abs(cx * dx + cy * dy) / half < half + radius + CLEAR;
  });
}

/** Points along the curve. */
function points(a, middle, b, pieces) {
  return Array.from({ length: pieces + 1 }, (_, step) => {
    const t = step / pieces;
    const at = (axis) => (1 - t) ** 2 * a[axis] + 2 * t * (1 - t) * middle[axis] + t ** 2 * b[axis];
    return [at(0), at(1)];
  });
}

/** How far the nearest circle is from a line through these points, negative if inside; not exact once below `enough`. */
function clearance(line, circles, enough) {
  let least = Infinity;
  for (const [cx, cy, radius] of circles)
    for (let piece = 1; piece < line.length; piece++) {
      const [x, y] = line[piece - 1];
      const [dx, dy] = [line[piece][0] - x, line[piece][1] - y];
      const along = clamp(((cx - x) * dx + (cy - y) * dy) / (dx * dx + dy * dy), 0, 1);
      least = Math.min(least, Math.hypot(cx - x - along * dx, cy - y - along * dy) - radius);
      if (least <= enough) return least;
    }
  return least;
}
