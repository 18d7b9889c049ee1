// The browser's own database: drafts, the pictures that were drawn, and what it keeps of the library.
export type Store = "drafts" | "library" | "pictures";

const STORES: readonly Store[] = ["drafts", "library", "pictures"];

function database(): Promise<IDBDatabase> {
  return new Promise((resolve, reject) => {
    const request = indexedDB.open("countermark", 3);
    request.onupgradeneeded = () => {
      const there = request.result.objectStoreNames;
      for (const name of STORES) {
        if (there.contains(name)) continue;
        const store = request.result.createObjectStore(name, { keyPath: "id" });
        if (name === "pictures") store.createIndex("at", "at");
      }
    };
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

/** Do one thing in one store, durably where it writes. */
export async function run<T>(name: Store, mode: IDBTransactionMode, work: (store: IDBObjectStore) => IDBRequest<T>): Promise<T> {
  const open = await database();
  try {
    return await new Promise((resolve, reject) => {
      const transaction = open.transaction(name, mode, { durability: name === "pictures" ? "relaxed" : "strict" });
      const request = work(transaction.objectStore(name));
      transaction.oncomplete = () => resolve(request.result);
      transaction.onabort = () => reject(transaction.error);
    });
  } finally {
    open.close();
  }
}
