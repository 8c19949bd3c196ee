// @ts-check
/* Visible part of the time axis. A column of one pixel is `pitch` / 1024 cycles wide; columns count from cycle 0,
   and `first` is the leftmost. Both are integers, so a column means the same cycles here and on the server. */

const GRAIN = 1024;
const FINEST = 16; /* 64 pixels to a cycle */

class Viewport {
  /** @param {number} total */
  constructor(total) {
    this.total = Math.max(1, total);
    this.width = 0;
    this.pitch = 0;
    this.first = 0;
  }

  /* The pitch at which everything is visible; the last cycle lies within the last column. */
  get fitPitch() {
    return Math.max(FINEST, Math.floor((this.total * GRAIN) / this.width) + 1);
  }
  get from() {
    return (this.first * this.pitch) / GRAIN;
  }
  get to() {
    return Math.min(this.total, ((this.first + this.width) * this.pitch) / GRAIN);
  }
  get percent() {
    return (100 * this.fitPitch) / this.pitch;
  }
  get isFit() {
    return this.pitch === this.fitPitch;
  }

  /** @param {number} x */
  cycleAt(x) {
    return ((this.first + x) * this.pitch) / GRAIN;
  }
  /** @param {number} cycle */
  x(cycle) {
    return (cycle * GRAIN) / this.pitch - this.first;
  }

  /**
   * Another canvas width keeps the window: the same cycles are visible.
   *
   * @param {number} width
   */
  resize(width) {
    if (width === this.width) return;
    const window_ = this.width && !this.isFit ? [this.from, this.to] : null;
    this.width = width;
    if (window_) this.show(window_[0], window_[1]);
    else this.fit();
  }

  fit() {
    this.pitch = this.fitPitch;
    this.first = 0;
  }

  /**
   * @param {number} from
   * @param {number} to
   */
  show(from, to) {
    this.pitch = this.bound(Math.ceil(((to - from) * GRAIN) / this.width));
    this.first = Math.round((from * GRAIN) / this.pitch);
    this.keepInside();
  }

  /** @param {number} pixels */
  pan(pixels) {
    this.moveTo(this.first + pixels);
  }

  /**
   * Make a column the leftmost one.
   *
   * @param {number} first
   */
  moveTo(first) {
    this.first = Math.round(first);
    this.keepInside();
  }

  /**
   * Zoom so that what is under pixel x stays there; factor > 1 shows less.
   *
   * @param {number} factor
   * @param {number} x
   */
  zoom(factor, x) {
    const position = (this.first + x) * this.pitch;
    let pitch = this.bound(Math.round(this.pitch / factor));
    if (pitch === this.pitch && factor !== 1) pitch = this.bound(this.pitch + (factor > 1 ? -1 : 1));
    this.pitch = pitch;
    this.first = Math.round(position / pitch - x);
    this.keepInside();
  }

  /** @param {number} percent */
  setPercent(percent) {
    this.zoom(percent / this.percent, this.width / 2);
  }

  /**
   * Move as little as possible until [from, to) is visible, zooming only when it would be a hairline or not fit. True
   * when it moved.
   *
   * @param {number} from
   * @param {number} to
   */
  reveal(from, to) {
    const before = [this.pitch, this.first];
    const wide = ((to - from) * GRAIN) / this.pitch;
    if (wide < 3 || wide > this.width * 0.9) {
      const half = Math.max(to - from, 8) * (wide < 3 ? 15 : 0.6);
      const middle = (from + to) / 2;
      this.show(Math.max(0, middle - half), Math.min(this.total, middle + half));
    } else if (this.x(from) < 24 || this.x(to) > this.width - 24) {
      this.first = Math.round((((from + to) / 2) * GRAIN) / this.pitch - this.width / 2);
      this.keepInside();
    }
    return before[0] !== this.pitch || before[1] !== this.first;
  }

  /** @param {number} pitch */
  bound(pitch) {
    return Math.min(this.fitPitch, Math.max(FINEST, pitch || 1));
  }

  keepInside() {
    const columns = Math.floor((this.total * GRAIN) / this.pitch) + 1;
    this.first = Math.max(0, Math.min(this.first, columns - this.width));
  }
}

export { GRAIN, Viewport };
