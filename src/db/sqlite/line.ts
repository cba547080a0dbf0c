// A connection that is replaced once it can't be trusted: after an I/O error nobody knows what its page cache holds.

interface Closable {
  close(): void;
}

/** Holds one connection after the other. */
export class Line<Handle extends Closable> {
  #handle: Handle;
  #trusted = true;

  constructor(private readonly open: () => Handle) {
    this.#handle = open();
  }

  get handle(): Handle {
    return this.#handle;
  }

  /** Has the next renew() take a new connection. */
  distrust(): void {
    this.#trusted = false;
  }

  /** To be called before each transaction. @throws what opening a connection throws; then the old one stays */
  renew(): void {
    if (this.#trusted) return;
    const fresh = this.open();
    this.#handle.close();
    this.#handle = fresh;
    this.#trusted = true;
  }
}
