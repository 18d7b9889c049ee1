import { lazy, Suspense, useCallback, useEffect, useRef, useState, Component, type ReactNode } from "react";
import { createRoot } from "react-dom/client";
import { beginning, usePlace } from "./address.ts";
import { listen, type News } from "./stream.ts";
import * as wire from "./wire.ts";
import { Failed, Link, Words } from "./view/frame.tsx";
import { List } from "./view/list.tsx";
import "./page.css";

// The editor is most of the page's weight; the list does not wait for it.
const scene = (): Promise<typeof import("./view/scene.tsx")> => import("./view/scene.tsx");
const Scene = lazy(scene);

// Asked before there is anything to show it with.
let first: Promise<wire.Health> | null = wire.health();
first.catch(() => undefined);

// A page that begins with a scene fetches editor, scene and health at once, and not one after the other.
if (beginning.at === "scene") {
  scene().catch(() => undefined);
  wire.foresee(beginning.name);
}

function Page() {
  const place = usePlace();
  const [health, setHealth] = useState<wire.Health | null>(null);
  const [failure, setFailure] = useState<wire.Failure | null>(null);
  const hearers = useRef(new Set<(news: News) => void>());
  const last = useRef<News | null>(null);

  const look = useCallback(() => {
    setFailure(null);
    const asked = first ?? wire.health();
    first = null;
    asked.then(setHealth, (error: unknown) => {
      setFailure(error instanceof wire.Refusal ? error.failure : { ...wire.UNREACHABLE, kind: "refused", message: String(error) });
    });
  }, []);
  useEffect(look, [look]);

  const known = health !== null;
  useEffect(() => {
    if (!known) return undefined;
    return listen((news) => {
      if (news.what === "up" || news.what === "down") last.current = news;
      for (const hearer of hearers.current) hearer(news);
    });
  }, [known]);

  const news = useCallback((hearer: (news: News) => void) => {
    hearers.current.add(hearer);
    if (last.current) hearer(last.current);
    return () => void hearers.current.delete(hearer);
  }, []);

  if (failure) return <Failed failure={failure} again={look} />;
  if (!health) return <p className="first-words">Opening…</p>;
  if (place.at === "list") return <List health={health} news={news} />;
  if (place.at === "scene") {
    return (
      <Suspense fallback={<p className="first-words">Opening {place.name}…</p>}>
        <Scene key={place.name} name={place.name} health={health} news={news} />
      </Suspense>
    );
  }
  return (
    <Words title="Nothing here" actions={<Link to="/" className="button">All scenes</Link>}>
      <p>This address belongs to no scene.</p>
    </Words>
  );
}

/** A fault of the page itself is said, reported and leaves the drafts where they are. */
class Guard extends Component<{ children: ReactNode }, { fault: string | null }> {
  override state = { fault: null as string | null };
  static getDerivedStateFromError(error: unknown): { fault: string } {
    return { fault: error instanceof Error ? error.message : String(error) };
  }
  override componentDidCatch(error: unknown): void {
    wire.report("error", { message: String(error) });
  }
  override render(): ReactNode {
    if (this.state.fault === null) return this.props.children;
    return (
      <Words title="The page stopped" actions={<button type="button" onClick={() => location.reload()}>Load it again</button>}>
        <p>{this.state.fault}</p>
        <p>What was not saved is kept in this browser and is offered when the scene opens again.</p>
      </Words>
    );
  }
}

const root = document.getElementById("page");
if (!root) throw new Error("the page has no place for itself");
createRoot(root).render(
  <Guard>
    <Page />
  </Guard>,
);
