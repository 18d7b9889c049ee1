// What differs between the person's version and the file's: two pictures of the same part of the plane, and a line for
// everything that either side did.
import { useEffect, useMemo, useState } from "react";
import type { Line } from "../describe.ts";
import { draw } from "../draw.ts";
import type { Rivals } from "../rivals.ts";
import { sheets, told, type Sheet, type Sheets } from "../sheets.ts";
import type { Proposal } from "../wire.ts";
import { owner } from "../words.ts";

const SIGNS = { added: "+", changed: "~", removed: "−" } as const;
const MOST_LINES = 7;

function useSheets(rivals: Rivals, dark: boolean, atMost: number): Sheets | null {
  const [made, setMade] = useState<Sheets | null>(null);
  useEffect(() => {
    let over = false;
    let free: () => void = () => undefined;
    sheets(rivals, dark, atMost).then(
      (drawn) => {
        if (over) return drawn.free();
        free = drawn.free;
        setMade(drawn.sheets);
      },
      // Without a picture the words stand.
      () => over || setMade(null),
    );
    return () => {
      over = true;
      free();
    };
  }, [rivals, dark, atMost]);
  return made;
}

/** One version; marks and their signs keep their size whatever the drawing's scale is. */
function Plane({ of, sheet, label, width }: { of: Sheets; sheet: Sheet; label?: string; width: number }) {
  const { view } = of;
  const shape = Math.min(2, Math.max(1.2, view.width / view.height));
  const unit = Math.max(view.width / width, (view.height * shape) / width);
  return (
    <svg className="plane" style={{ aspectRatio: shape }} viewBox={`${view.x} ${view.y} ${view.width} ${view.height}`} {...(label ? { role: "img", "aria-label": label } : { "aria-hidden": true })}>
      <rect {...view} fill={of.background} className={of.dark ? "ground dark" : "ground"} />
      {sheet.url && sheet.box ? <image href={sheet.url} {...sheet.box} /> : null}
      {sheet.marks.map(({ line, box, both }) => (
        <g key={line.id} className={`mark ${line.sign}${both ? " both" : ""}`}>
          <rect {...box} rx={6 * unit} />
          <circle cx={box.x} cy={box.y} r={9 * unit} />
          <text x={box.x} y={box.y} fontSize={14 * unit}>
            {both ? "!" : SIGNS[line.sign]}
          </text>
        </g>
      ))}
    </svg>
  );
}

function Lines({ of, both }: { of: readonly Line[]; both: ReadonlySet<string> }) {
  if (of.length === 0) return <p className="quiet">Nothing that can be seen.</p>;
  return (
    <ul className="did">
      {of.slice(0, MOST_LINES).map((line) => (
        <li key={line.id}>
          <span className={`sign ${line.sign}${both.has(line.id) ? " both" : ""}`} aria-hidden="true">
            {both.has(line.id) ? "!" : SIGNS[line.sign]}
          </span>
          <span>
            {line.what} {line.how}
            {both.has(line.id) ? ", by both" : ""}
          </span>
        </li>
      ))}
      {of.length > MOST_LINES ? <li className="quiet">and {of.length - MOST_LINES} more</li> : null}
    </ul>
  );
}

/** What the two come to, before anybody takes it. */
function Merged({ of, dark }: { of: Proposal; dark: boolean }) {
  const [url, setUrl] = useState<string | null>(null);
  useEffect(() => {
    let over = false;
    let made: string | null = null;
    draw(of.scene, dark, 1200).then(
      (plate) => {
        if (over || !plate) return;
        made = URL.createObjectURL(plate.blob);
        setUrl(made);
      },
      () => undefined,
    );
    return () => {
      over = true;
      if (made) URL.revokeObjectURL(made);
    };
  }, [of, dark]);
  return (
    <figure>
      <figcaption>
        <strong>Merged</strong> <span className="quiet">what both come to</span>
      </figcaption>
      <div className="plane">{url ? <img src={url} alt="The merged version" /> : null}</div>
      <ul className="did">
        {of.notes.map((note) => (
          <li key={note}>{note}</li>
        ))}
      </ul>
    </figure>
  );
}

/** Both versions side by side, and what they come to where that is settled. */
export function Comparison({ rivals, merged, dark }: { rivals: Rivals; merged: Proposal | null; dark: boolean }) {
  const drawn = useSheets(rivals, dark, 1200);
  const said = useMemo(() => told(rivals), [rivals]);
  const theirs = owner(rivals.mark.by);
  return (
    <div className="comparison" data-drawn={drawn ? "" : undefined}>
      <figure>
        <figcaption>
          <strong>Yours</strong> <span className="quiet">not saved</span>
        </figcaption>
        {drawn ? <Plane of={drawn} sheet={drawn.mine} label="Your version" width={420} /> : <div className="plane" />}
        <Lines of={said.mine} both={said.both} />
      </figure>
      <figure>
        <figcaption>
          <strong>{theirs}</strong> <span className="quiet">revision {rivals.mark.revision}, in the file</span>
        </figcaption>
        {drawn ? <Plane of={drawn} sheet={drawn.theirs} label={`${theirs} version`} width={420} /> : <div className="plane" />}
        <Lines of={said.theirs} both={said.both} />
      </figure>
      {merged ? <Merged of={merged} dark={dark} /> : null}
    </div>
  );
}

/** Both versions at a glance, as the way to see them larger. */
export function Glance({ rivals, dark, open }: { rivals: Rivals; dark: boolean; open: () => void }) {
  const drawn = useSheets(rivals, dark, 420);
  return (
    <button type="button" className="glance" onClick={open} aria-label="Compare both versions">
      {drawn ? (
        <>
          <Plane of={drawn} sheet={drawn.mine} width={120} />
          <Plane of={drawn} sheet={drawn.theirs} width={120} />
        </>
      ) : null}
    </button>
  );
}
