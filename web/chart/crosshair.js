// The cursor of a chart, on a canvas over it: a line, the points next to it, and the part that is being dragged.
import {colourOf} from './palette.js';

const RADIUS = 4;

/** Gives a canvas the pixels of its place on the screen. Returns its context, cleared. */
export const contextOf = (canvas) => {
  const ratio = devicePixelRatio || 1;
  const [width, height] = [canvas.clientWidth * ratio, canvas.clientHeight * ratio].map(Math.round);
  const g = canvas.getContext('2d');
  if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, {width, height});
  g.setTransform(ratio, 0, 0, ratio, 0, 0);
  g.clearRect(0, 0, width, height);
  return g;
};

/** x: in pixels; undefined without a cursor. readings: {place, y}. drag: two pixels. */
export const paintCrosshair = (canvas, frame, {x, readings = [], drag = undefined, theme}) => {
  const g = contextOf(canvas);
  if (drag) {
    g.globalAlpha = 0.2;
    g.fillStyle = theme.text;
    g.fillRect(Math.min(...drag), frame.top, Math.abs(drag[1] - drag[0]), frame.bottom - frame.top);
    g.globalAlpha = 1;
  }
  if (x === undefined || !(x >= frame.left && x <= frame.right)) return;
  g.strokeStyle = theme.text;
  g.beginPath();
  g.moveTo(x, frame.top);
  g.lineTo(x, frame.bottom);
  g.stroke();
  g.strokeStyle = theme.back;
  g.lineWidth = 1.5;
  for (const reading of readings) {
    const px = frame.x.at(reading.x);
    if (!(reading.y >= frame.top && reading.y <= frame.bottom && px >= frame.left && px <= frame.right)) continue;
    g.fillStyle = colourOf(reading.place);
    g.beginPath();
    g.arc(px, reading.y, RADIUS, 0, 2 * Math.PI);
    g.fill();
    g.stroke();
  }
};
