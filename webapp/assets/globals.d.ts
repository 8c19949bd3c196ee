/* Types that several scripts speak of, and the global objects that main.js assigns. A script's own names are inferred. */

/** What a key or the palette does (shell/commands.js). */
interface Command {
  title: string;
  run: (event?: KeyboardEvent) => void;
  key?: string;
  keys?: string;
  group?: string;
  /** Where a report of that name lies. */
  detail?: string;
  when?: () => boolean;
  hidden?: boolean;
}
/** "tile 5" in the palette: its words, and what it selects in which view; null = the view of now. */
interface Jump {
  words: string[];
  noun: string;
  view: string | null;
  patch: (id: number) => Patch;
}
/** A report of the open folders (webapp/shell/shell_routes.py). */
interface ListedReport {
  key: string;
  kind: "report" | "trace";
  name: string;
  place: string;
}
/** The answer of /data/<key>/state; generation is null for a trace. */
interface ReportState {
  stamp: string;
  generation: number | null;
  identity?: string;
  problem?: string;
}
/** What a row of the list of reports is sorted and filtered by (shell/report_list.js). */
interface ListedRow {
  [field: string]: string | number | null;
}
/** Reports opened together, the source first (shell/compare.js). */
interface RecentEntry {
  keys: string[];
  labels: string[];
}
/** A part of the page that waits for requests (shell/progress.js). */
interface PageWait {
  count: number;
  /** performance.now() of the first request. */
  since: number;
  timer?: number;
  bar?: HTMLElement;
  text?: HTMLElement;
}
type ScaleKind = "sequential" | "diverging";
/** A plot over positions: tiles, liveness indices or device cycles (shared/plots/axis.js describes the fields). */
interface PositionPlot {
  name: string;
  view: string;
  pick: string;
  also: string;
  count: number;
  first: number;
  order: number[] | null;
  /** Liveness indices that a click selects where the axis is device time. */
  ids: number;
  peak?: number | null;
  peaks?: number[];
  mark?: string;
  hits?: string;
  /** `hits` decoded. */
  bits?: Uint8Array;
  span?: [string, string] | null;
  fit?: [number, number] | null;
  /** Facts of a heat map in the place of the plot (liveness/heat.js). */
  heat?: any;
}

/** A row of the program tree (webapp/graph_analyser/programs/routes.py); figures are null where not recorded. */
interface ProgramFigures {
  [field: string]: any;
}
/** A column of the tree; `share` says how its share is computed, `unknown` why a figure is missing. */
interface ProgramColumn {
  field: string;
  kind: string;
  share: string | null;
  unknown: string | null;
}
interface ProgramLine extends ProgramFigures {
  key: string;
  id: number;
  name: string;
  note: string;
  /** Whether codelets without an estimate are part of its cycles. */
  guess?: boolean;
  source?: Record<string, number | null>;
  target?: ProgramFigures | null;
}

type ProgramTree = import("./programs/tree.js").ProgramTree;

/** The graph of operations, placed by the server (webapp/graph_analyser/operations/routes.py); pixels. */
interface OperationGraph {
  width: number;
  height: number;
  /** Width and height of every box. */
  box: [number, number];
  nodes: OperationNode[];
  edges: OperationEdge[];
  note?: string;
}
interface OperationNode extends Point {
  name: string;
  kind: string;
  detail: string;
  /** The name without the prefix that the page shows above the graph. */
  short?: string;
  /** Type of the program that the box stands for. */
  type?: string;
  /** Of the total, 0..1. */
  share: number | null;
  /** Whether the search finds it. */
  found?: boolean;
  program: number;
  variable: number;
  context: number;
}
interface OperationEdge {
  source: number;
  target: number;
  points: [number, number][];
  /** Against the direction of the layout. */
  back: boolean;
  bytes: number;
  text: string;
}

/** The selection of the page: keys of the URL. */
type PageSelection = Record<string, string>;
/** What popvision.select merges; null and "" remove a key. */
type Patch = Record<string, string | number | null | undefined>;
/** Parameters of a route. */
type Query = Record<string, string | number | boolean | null | undefined>;
/** An answer of a binary route (shared/packed.js). */
interface Packed {
  header: any;
  arrays: Record<string, any>;
}

interface Point {
  x: number;
  y: number;
}

interface Area extends Point {
  width: number;
  height: number;
}

/** A drag with the pointer (shared/canvas/pointer.js). */
interface Drag {
  move?: (point: Point, event: PointerEvent) => void;
  drop?: (point: Point, event: PointerEvent) => void;
  click?: (point: Point, event: PointerEvent) => void;
  cancel?: () => void;
}

/** A canvas or SVG text (shared/canvas/pens.js). */
interface Pen {
  box(x: number, y: number, width: number, height: number, colour: string, alpha?: number): void;
  outline(x: number, y: number, width: number, height: number, colour: string, thick: number): void;
  line(x0: number, y0: number, x1: number, y1: number, colour: string, width?: number, dash?: number[]): void;
  /** Cut to `most` pixels; vertically centred at y. */
  text(words: string, x: number, y: number, colour: string, align: Align, size?: number, most?: number): void;
  hatch(x: number, y: number, width: number, height: number, colour: string): void;
  /** The picture stretched to the box, clipped to the area. */
  image(picture: HTMLCanvasElement, x: number, y: number, width: number, height: number, area: Area): void;
  clip(x: number, y: number, width: number, height: number): void;
  unclip(): void;
}
type Align = "left" | "center" | "right";

/** A row of the host timeline (timeline/rows.js); `top` and `height` in pixels once it has a place. */
interface TimelineRow {
  id: string;
  kind: string;
  title: string;
  depth: number;
  top: number;
  height: number;
  open: boolean;
  foldable?: boolean;
  pinnable?: boolean;
  isPinned?: boolean;
  under?: string[];
  threads?: number[];
  lanes?: number;
  instants?: number;
}
interface RowLayout {
  pinned: TimelineRow[];
  rows: TimelineRow[];
  pinnedHeight: number;
  height: number;
}

declare namespace Canvas {
  type Viewport = import("./shared/canvas/viewport.js").Viewport;
  type Listeners = import("./shared/canvas/frame_loop.js").Listeners;
  type FrameLoop = import("./shared/canvas/frame_loop.js").FrameLoop;
  type HeldKey = import("./shared/canvas/keys.js").HeldKey;
}

interface Window {
  dash_clientside: any;
  dash_ag_grid: any;
  dashAgGridFunctions: Record<string, unknown>;
  Plotly: any;
  popvision: any;
}

interface Element {
  /** Save the picture of a canvas that stands in the place of a plot. */
  saveImage?: (kind: string, name: string) => void;
}
