// The folder's scenes.
import { useCallback, useEffect, useRef, useState, type FormEvent } from "react";
import { address, go } from "../address.ts";
import type { News } from "../stream.ts";
import * as wire from "../wire.ts";
import { actor, misnamed, plural, revision, size, when } from "../words.ts";
import { Dialog, Failed, Link, Notice, ThemeChoice } from "./frame.tsx";

type Asked = { readonly what: "rename" | "trash"; readonly scene: wire.Summary };

const failureOf = (error: unknown): wire.Failure =>
  error instanceof wire.Refusal ? error.failure : { ...wire.UNREACHABLE, kind: "refused", message: String(error), next: null };

export function List({ health, news }: { health: wire.Health; news: (listen: (news: News) => void) => () => void }) {
  const [scenes, setScenes] = useState<readonly wire.Summary[] | null>(null);
  const [failure, setFailure] = useState<wire.Failure | null>(null);
  const [connected, setConnected] = useState(true);
  const [asked, setAsked] = useState<Asked | null>(null);
  const latest = useRef(0);

  const look = useCallback(() => {
    const turn = ++latest.current;
    wire.list().then(
      (found) => {
        if (turn !== latest.current) return;
        setScenes(found);
        setFailure(null);
      },
      (error: unknown) => {
        if (turn === latest.current) setFailure(failureOf(error));
      },
    );
  }, []);

  useEffect(() => {
    document.title = "Scenes";
    look();
    let soon: ReturnType<typeof setTimeout> | undefined;
    const stop = news((heard) => {
      setConnected(heard.what !== "down");
      clearTimeout(soon);
      if (heard.what !== "down") soon = setTimeout(look, 150);
    });
    return () => {
      clearTimeout(soon);
      stop();
    };
  }, [look, news]);

  if (failure && !scenes) return <Failed failure={failure} again={look} />;
  const fresh = ({ scene }: Asked): wire.Summary => scenes?.find((row) => row.name === scene.name) ?? scene;
  const folder = health.drawingsDir.split("/").filter(Boolean).at(-1) ?? health.drawingsDir;
  return (
    <main className="list">
      <header className="list-head">
        <div>
          <h1>Scenes</h1>
          <p className="quiet" title={health.drawingsDir}>
            in <code>{folder}</code>
            {scenes ? ` · ${plural(scenes.length, "scene")}` : ""}
          </p>
        </div>
        <ThemeChoice />
      </header>
      {connected ? null : (
        <Notice tone="attention">The server is not reachable. This list is as it was; the page looks again by itself.</Notice>
      )}
      {health.readOnly ? <Notice tone="attention">This folder is read only: scenes can be looked at, not changed.</Notice> : <Create />}
      {scenes === null ? (
        <p className="quiet">Looking…</p>
      ) : scenes.length === 0 ? (
        <div className="empty">
          <h2>No scenes yet</h2>
          <p className="quiet">
            Name the first one above, or put a <code>.excalidraw</code> file into the folder: it appears here.
          </p>
        </div>
      ) : (
        <ul className="scenes">
          {scenes.map((scene) => (
            <Row key={scene.name} scene={scene} readOnly={health.readOnly} ask={setAsked} />
          ))}
        </ul>
      )}
      {asked?.what === "rename" ? <Rename scene={fresh(asked)} close={() => setAsked(null)} done={look} /> : null}
      {asked?.what === "trash" ? <Trash scene={fresh(asked)} close={() => setAsked(null)} done={look} /> : null}
    </main>
  );
}

function Row({ scene, readOnly, ask }: { scene: wire.Summary; readOnly: boolean; ask: (asked: Asked) => void }) {
  return (
    <li className={scene.valid ? "scene" : "scene invalid"}>
      <div className="scene-name">
        {scene.valid ? <Link to={address(scene.name)}>{scene.name}</Link> : <span>{scene.name}</span>}
        {scene.valid && !scene.reason ? null : <span className="reason">{scene.reason ?? "It cannot be read."}</span>}
      </div>
      <div className="scene-facts quiet">
        {scene.valid ? <span>{plural(scene.elementCount, "element")}</span> : null}
        <span>{size(scene.byteLength)}</span>
        <span>
          {actor(scene.by)}, {when(scene.updatedAt)}
        </span>
        {scene.valid ? <code>{revision(scene)}</code> : null}
      </div>
      {readOnly ? null : (
        <div className="scene-actions">
          {scene.valid ? (
            <button type="button" className="plain" onClick={() => ask({ what: "rename", scene })} aria-label={`Rename ${scene.name}`}>
              Rename
            </button>
          ) : null}
          <button type="button" className="plain" onClick={() => ask({ what: "trash", scene })} aria-label={`Move ${scene.name} to the trash`}>
            Trash
          </button>
        </div>
      )}
    </li>
  );
}

function Create() {
  const [name, setName] = useState("");
  const [wrong, setWrong] = useState<string | null>(null);
  // One request id for one name: a second click, or a retry after silence, makes no second scene.
  const request = useRef({ name: "", id: "" });
  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    const bad = misnamed(name);
    setWrong(bad);
    if (bad) return;
    if (request.current.name !== name) request.current = { name, id: crypto.randomUUID() };
    try {
      await wire.create(name, request.current.id);
      await go(address(name));
    } catch (error) {
      const failure = failureOf(error);
      setWrong(failure.code === "already_exists" ? `A scene named ${name} is already there.` : failure.message);
    }
  };
  return (
    <form className="create" onSubmit={(event) => void submit(event)} noValidate>
      <label htmlFor="new-name">New scene</label>
      <div className="create-row">
        <input
          id="new-name"
          value={name}
          placeholder="a-name"
          autoComplete="off"
          autoCapitalize="none"
          spellCheck={false}
          aria-invalid={wrong !== null}
          aria-describedby="new-name-words"
          onChange={(event) => {
            setName(event.target.value);
            setWrong(null);
          }}
        />
        <button type="submit" className="main">
          Create
        </button>
      </div>
      <p id="new-name-words" className={wrong ? "wrong" : "quiet"} aria-live="polite">
        {wrong ?? "The name of the file, without its ending."}
      </p>
    </form>
  );
}

type Ask = { scene: wire.Summary; close: () => void; done: () => void };

function Rename({ scene, close, done }: Ask) {
  const [to, setTo] = useState(scene.name);
  const [wrong, setWrong] = useState<string | null>(null);
  const open = useRef<wire.Asked | null>(null);
  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    const bad = to === scene.name ? "That is its name already." : misnamed(to);
    setWrong(bad);
    if (bad) return;
    const asked = wire.asking(open.current, to, scene.revision);
    try {
      await wire.rename(scene.name, asked);
      done();
      close();
    } catch (error) {
      const failure = failureOf(error);
      setWrong(failure.message);
      open.current = wire.stillOpen(asked, failure.kind);
      // The next try stands on the scene as it is now.
      done();
    }
  };
  return (
    <Dialog title={`Rename ${scene.name}`} onClose={close}>
      <form onSubmit={(event) => void submit(event)} noValidate>
        <label htmlFor="to-name">New name</label>
        <input
          id="to-name"
          value={to}
          autoFocus
          spellCheck={false}
          autoComplete="off"
          aria-invalid={wrong !== null}
          aria-describedby="to-name-words"
          onChange={(event) => setTo(event.target.value)}
        />
        <p id="to-name-words" className={wrong ? "wrong" : "quiet"} aria-live="polite">
          {wrong ?? "Its revisions and its history go with it."}
        </p>
        <p className="actions">
          <button type="submit" className="main">
            Rename
          </button>
          <button type="button" onClick={close}>
            Cancel
          </button>
        </p>
      </form>
    </Dialog>
  );
}

function Trash({ scene, close, done }: Ask) {
  const [wrong, setWrong] = useState<string | null>(null);
  const open = useRef<wire.Asked | null>(null);
  const trash = async (): Promise<void> => {
    const asked = wire.asking(open.current, "", scene.revision);
    try {
      await wire.trash(scene.name, asked);
      done();
      close();
    } catch (error) {
      const failure = failureOf(error);
      setWrong(failure.message);
      open.current = wire.stillOpen(asked, failure.kind);
      // The next try stands on the scene as it is now.
      done();
    }
  };
  return (
    <Dialog title={`Move ${scene.name} to the trash?`} onClose={close} urgent>
      <p>The file and its history are moved together, not erased. A new scene of this name starts empty.</p>
      {wrong ? (
        <p className="wrong" role="alert">
          {wrong}
        </p>
      ) : null}
      <p className="actions">
        <button type="button" onClick={close} autoFocus>
          Keep it
        </button>
        <button type="button" className="danger" onClick={() => void trash()}>
          Move to trash
        </button>
      </p>
    </Dialog>
  );
}
