// The folder's scenes: found by name or by what stands in them, made, renamed, put into the trash and brought back.
import { useCallback, useEffect, useRef, useState, type FormEvent } from "react";
import { address, go } from "../address.ts";
import type { News } from "../stream.ts";
import * as wire from "../wire.ts";
import { misnamed, plural } from "../words.ts";
import { Ask, failureOf } from "./ask.tsx";
import { Card } from "./card.tsx";
import { Failed, Notice, ThemeChoice } from "./frame.tsx";
import { SearchField, useSearch } from "./search.tsx";
import { Bin, Undo, type Put } from "./trash.tsx";

type Asked = { readonly what: "rename" | "trash"; readonly scene: wire.Summary };

export function List({ health, news }: { health: wire.Health; news: (listen: (news: News) => void) => () => void }) {
  const [scenes, setScenes] = useState<readonly wire.Summary[] | null>(null);
  const [lying, setLying] = useState<readonly wire.Trashed[]>([]);
  const [failure, setFailure] = useState<wire.Failure | null>(null);
  const [connected, setConnected] = useState(true);
  const [asked, setAsked] = useState<Asked | null>(null);
  const [put, setPut] = useState<Put | null>(null);
  const [bin, setBin] = useState(false);
  const latest = useRef(0);
  const search = useSearch(scenes);
  const focus = useRef<string | null>(null);

  const look = useCallback(() => {
    const turn = ++latest.current;
    Promise.all([wire.list(), wire.trashed()]).then(
      ([found, thrown]) => {
        if (turn !== latest.current) return;
        setScenes(found);
        setLying(thrown);
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

  // Where the keyboard goes on, as soon as it is there, once what it stood on is gone.
  useEffect(() => {
    if (focus.current === null || document.querySelector("dialog[open]")) return;
    const there = document.querySelector<HTMLElement>(`.list [data-focus="${CSS.escape(focus.current)}"]`);
    if (!there) return;
    there.focus();
    focus.current = null;
  });

  if (failure && !scenes) return <Failed failure={failure} again={look} />;
  const close = (): void => setAsked(null);
  const now = asked && (scenes?.find((row) => row.name === asked.scene.name) ?? asked.scene);
  const folder = health.drawingsDir.split("/").filter(Boolean).at(-1) ?? health.drawingsDir;
  const back = (name: string): void => {
    setPut(null);
    setBin(false);
    focus.current = `scene-${name}`;
    look();
  };
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
      {connected ? null : <Notice tone="attention">The server is not reachable. This list is as it was; the page looks again by itself.</Notice>}
      {health.readOnly ? <Notice tone="attention">This folder is read only: scenes can be looked at, not changed.</Notice> : null}
      <div className="list-tools">
        <SearchField search={search} />
        {health.readOnly ? null : <Create />}
      </div>
      {put ? <Undo put={put} done={back} close={() => setPut(null)} /> : null}
      {scenes === null ? (
        <p className="quiet">Looking…</p>
      ) : scenes.length === 0 ? (
        <div className="empty">
          <h2>No scenes yet</h2>
          <p className="quiet">
            {health.readOnly ? "This folder holds no " : "Name the first one above, or put a "}
            <code>.excalidraw</code>
            {health.readOnly ? " file." : " file into the folder: it appears here."}
          </p>
        </div>
      ) : search.shown.length === 0 ? (
        <div className="empty">
          <h2>Nothing found</h2>
          <p className="quiet">No scene’s name and no text in one has “{search.wanted}”.</p>
        </div>
      ) : (
        <ul className="scenes">
          {search.shown.map(({ scene, hits }) => (
            <Card key={scene.name} scene={scene} hits={hits} readOnly={health.readOnly} ask={(what) => setAsked({ what, scene })} />
          ))}
        </ul>
      )}
      {lying.length > 0 ? (
        <p className="list-foot">
          <button type="button" className="plain" data-focus="bin" onClick={() => setBin(true)}>
            Trash · {lying.length}
          </button>
        </p>
      ) : null}
      {bin ? <Bin lying={lying} readOnly={health.readOnly} close={() => setBin(false)} done={back} look={look} /> : null}
      {asked?.what === "rename" && now ? (
        <Ask
          title={`Rename ${now.name}`}
          words="Its revisions and its history go with it."
          expected={now.revision}
          field={{ label: "New name", begin: now.name, wrong: (to) => (to === now.name ? "That is its name already." : misnamed(to)) }}
          send={async (sent) => {
            await wire.rename(now.name, sent);
            focus.current = `rename-${sent.to}`;
          }}
          yes="Rename"
          no="Cancel"
          close={close}
          done={look}
        />
      ) : null}
      {asked?.what === "trash" && now ? (
        <Ask
          title={`Move ${now.name} to the trash?`}
          words="The file and its history are moved together, not erased. A new scene of this name starts empty."
          expected={now.revision}
          send={(sent) => wire.trash(now.name, sent)}
          yes="Move to trash"
          no="Keep it"
          danger
          close={close}
          done={(sent) => {
            if (sent) setPut({ name: now.name, sha256: now.sha256 });
            look();
          }}
        />
      ) : null}
    </main>
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
          aria-describedby={wrong ? "new-name-words" : undefined}
          onChange={(event) => {
            setName(event.target.value);
            setWrong(null);
          }}
        />
        <button type="submit" className="main">
          Create
        </button>
      </div>
      <p id="new-name-words" className="wrong" aria-live="polite">
        {wrong}
      </p>
    </form>
  );
}
