// Values that travel with a request through middleware and handlers.
import type { Context } from "hono";
import type { Logger } from "../log.ts";
import type { Actor } from "../services/actor.ts";
import type { Device } from "../services/devices/devices.ts";
import type { NoticedRemoval } from "../services/subscriptions/noticed-removals.ts";

/** What every page of a signed-in user shows around its content. */
export interface Frame {
  /** The user's name. */
  user: string;
  /** Of which something is still missing. */
  removals: NoticedRemoval[];
  /** The user's devices, by their ids. */
  devices: Map<string, Device>;
  /** False for a session by a token that may only read. */
  canWrite: boolean;
  /** False for a session by any token, which may not change how the user signs in. */
  byPassword: boolean;
  /** What was typed into the page's form before the session ended. */
  typed: Record<string, string | undefined>;
}

export interface HttpEnv {
  Bindings: {
    /** The peer's IP address, as the socket has it. */
    readonly address?: string | undefined;
    /** Says that more of the body has arrived: the connection of a slow one would be closed a minute after the head. */
    stayOpen?(): void;
    /** Keeps the connection open until stayOpen(), however long the response takes. */
    awaitResponse?(): void;
    /** The context of the server's middleware, for protocols that are loaded at their first request. */
    readonly outer?: Context<HttpEnv>;
  };
  Variables: {
    requestId: string;
    /** The server's log. */
    log: Logger;
    /** The context of a protocol that was loaded at its first request. */
    inner: Context<HttpEnv> | undefined;
    actor: Actor;
    /** Reads the request's credential again. It throws if that has ended. */
    checkAgain: (() => Promise<unknown>) | undefined;
    /** Elements of the body that were left out, and why the first one was. */
    leftOut: { count: number; reason: string } | undefined;
    /** The user's clock when the token was read. */
    clock: number;
    /** Name of the user who signed in by Basic or a session. */
    userName: string;
    /** Of the password that signed in; null if another credential did. */
    passwordHash: string | null;
    /** How many podcasts that user has or had. */
    podcasts: number | undefined;
    /** The id of the page's session. */
    sessionId: string | null;
    /** True if a stranger may open this page. */
    isOpen: boolean | undefined;
    /** The path of the public URL, which links of pages begin with. */
    basePath: string;
    /** Reads what pages show around their content. */
    frame: () => Promise<Frame>;
    /** True if the response ends the session. */
    endsSession: boolean;
    /** What the response's body is known to be: short, or written while it is read. */
    body: "short" | "stream" | undefined;
    /** What the response's ETag says: the user's clock, and what else the body depends on. */
    etag: { clock: number; marks: string[] } | undefined;
  };
}
