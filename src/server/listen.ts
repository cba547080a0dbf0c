// HTTP listeners.
import type { Server } from "bun";
import { codeOf, DomainError } from "../errors.ts";
import { limitReceiveBuffers } from "../receive-buffer.ts";

/** Seconds after which a connection is closed that waits for a request, for more of a body, or for a handler. */
const IDLE_TIMEOUT = 60;

/** What requests need of their connection. */
class Connection {
  constructor(
    private readonly request: Request,
    private readonly server: Server<undefined>,
    private readonly idleTimeout: number,
  ) {}

  /** Few requests need it, and it costs as much as a read from the database. */
  get address(): string | undefined {
    return this.server.requestIP(this.request)?.address;
  }

  /** Begins the idle time again. The runtime does that only for bodies that arrive with more than 16 KB a second. */
  stayOpen(): void {
    this.server.timeout(this.request, this.idleTimeout);
  }

  /** Ends the idle time until stayOpen(). The runtime does that only for bodies that nothing said stayOpen() about. */
  awaitResponse(): void {
    this.server.timeout(this.request, 0);
  }
}

interface Address {
  host: string;
  port: number;
  /** The flag of the port, for the error. */
  flag: string;
}

/** @throws DomainError "unavailable" if the address may be free or there later, else "config" */
export async function listen(
  { host, port, flag }: Address,
  fetch: (request: Request, connection: Connection) => Response | Promise<Response>,
  idleTimeout = IDLE_TIMEOUT,
): Promise<Server<undefined>> {
  await requireAddress(host);
  try {
    const server = Bun.serve({
      hostname: host,
      port,
      reusePort: false,
      development: false,
      idleTimeout,
      // The app has its own limit, with a response that clients can read.
      maxRequestBodySize: Number.MAX_SAFE_INTEGER,
      fetch: (request, server) => fetch(request, new Connection(request, server, idleTimeout)),
    });
    limitReceiveBuffers();
    return server;
  } catch (error) {
    throw refusal(error, { host, port, flag });
  }
}

/** Tries whether this machine has an address, on a free port. @throws DomainError "unavailable" */
export async function requireOwn(host: string): Promise<void> {
  const server = await listen({ host, port: 0, flag: "--host" }, () => new Response());
  await server.stop(true);
}

// For a name without an address, Bun.serve() reports the error of an earlier call.
async function requireAddress(host: string): Promise<void> {
  try {
    await Bun.dns.lookup(host);
  } catch (error) {
    throw missing(host, error);
  }
}

const missing = (host: string, cause: unknown) =>
  new DomainError("unavailable", `Can't listen on ${host}: this machine doesn't have that address, or not yet`, {
    cause,
  });

// systemd starts the server again after "unavailable", and not after "config".
function refusal(error: unknown, { host, port, flag }: Address): DomainError {
  const code = codeOf(error);
  const refuse = (kind: "config" | "unavailable", reason: string) => new DomainError(kind, reason, { cause: error });
  if (code === "EADDRINUSE") {
    return refuse(
      "unavailable",
      `Port ${port} on ${host} is taken: stop the program that uses it, or choose another port with ${flag}`,
    );
  }
  if (code === "EACCES") {
    return refuse("config", `Port ${port} needs root: choose a port from 1024 with ${flag}, behind a reverse proxy`);
  }
  return missing(host, error);
}
