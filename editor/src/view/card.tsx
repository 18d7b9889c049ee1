// One scene of the list: its picture, its name, what is known of it, where a searched text stands, what can be done.
import { address } from "../address.ts";
import * as wire from "../wire.ts";
import { plural, revision, size, when, writer } from "../words.ts";
import { Link } from "./frame.tsx";
import { Small } from "./picture.tsx";

const MOST_HITS = 3;

export function Card({
  scene,
  hits,
  readOnly,
  ask,
}: {
  scene: wire.Summary;
  hits: readonly wire.Hit[];
  readOnly: boolean;
  ask: (what: "rename" | "trash") => void;
}) {
  const facts = [scene.valid ? plural(scene.elementCount, "element") : null, size(scene.byteLength)].filter(Boolean).join(" · ");
  const inside = hits.filter((hit) => hit.element !== null);
  return (
    <li className={scene.valid ? "scene" : "scene invalid"}>
      {scene.valid ? <Small of={scene} load={async () => (await wire.open(scene.name)).scene} /> : <span className="small"><span className="none">No picture</span></span>}
      <div className="scene-words">
        <p className="scene-name">
          {scene.valid ? (
            <Link to={address(scene.name)} focus={`scene-${scene.name}`} className="whole">
              {scene.name}
            </Link>
          ) : (
            <span>{scene.name}</span>
          )}
        </p>
        {scene.valid && !scene.reason ? null : <p className="reason">{scene.reason ?? "It cannot be read."}</p>}
        {inside.length > 0 ? (
          <ul className="hits">
            {inside.slice(0, MOST_HITS).map((hit, at) => (
              <li key={`${hit.element}-${at}`}>
                <Link to={address(scene.name, hit.element)}>
                  {hit.before}
                  <mark>{hit.match}</mark>
                  {hit.after}
                </Link>
              </li>
            ))}
            {inside.length > MOST_HITS ? <li className="quiet">and {plural(inside.length - MOST_HITS, "more place")}</li> : null}
          </ul>
        ) : null}
        <p className="scene-facts quiet">
          <span>
            {writer(scene.by)}, {when(scene.updatedAt)}
          </span>
          <span>{facts}</span>
          {scene.valid ? <code>{revision(scene)}</code> : null}
        </p>
      </div>
      {readOnly ? null : (
        <div className="scene-actions">
          {scene.valid ? (
            <button type="button" className="plain" data-focus={`rename-${scene.name}`} onClick={() => ask("rename")} aria-label={`Rename ${scene.name}`}>
              Rename
            </button>
          ) : null}
          <button type="button" className="plain" onClick={() => ask("trash")} aria-label={`Move ${scene.name} to the trash`}>
            Trash
          </button>
        </div>
      )}
    </li>
  );
}
