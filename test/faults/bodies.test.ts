// Bodies: on every route, credentials and limits come before a body is read (P8).
import { afterAll, beforeAll, expect, test } from "bun:test";
import { basicAuth } from "../support/basic-auth.ts";
import { type Route, routesOf } from "./routes.ts";
import { EXAMPLES, fill, openWorld, sessionOf, type World } from "./two-users.ts";

/** Routes that take a body from those who have no credentials yet: a name and a password, or a secret. */
const OPEN = [
  "POST /sign-in",
  "POST /sign-out",
  "POST /connect/:secret",
  "POST /auth/login",
  "POST /auth/refresh",
  "POST /login/v2",
  "POST /login/v2/poll",
  "POST /setup/:code",
  "POST /password/:secret",
];
/** Bytes that these routes read. */
const MOST_OPEN = 16 * 1024;
/** More than any limit. */
const HUGE = 1e9;

let world: World;
let routes: Route[];
beforeAll(async () => {
  world = await openWorld();
  // The server reads no body of a GET. OPTIONS is the answer to browsers, from the middleware for CORS.
  routes = routesOf(world.server).filter(({ method }) => method !== "GET");
});
afterAll(() => world.server.close());

const isOpen = ({ name }: Route) => OPEN.includes(name.replace("/index.php", ""));

const { gpodder, nextcloud, draft, page, open } = EXAMPLES;
const examples = { ...gpodder, ...nextcloud, ...draft, ...page, ...open };

/** The path that a route's example has. */
function pathOf({ name, path }: Route): string {
  const example = examples[name];
  return fill(example?.path ?? path.replace(":guid", world.ann.guid), world.ann, world.bob);
}

async function send(route: Route, credentials: Record<string, string>, headers: Record<string, string>, body?: string) {
  let read = 0;
  const stream = new ReadableStream(
    {
      pull(controller) {
        read++;
        if (body === undefined) return new Promise(() => {});
        controller.enqueue(Buffer.from(body));
        controller.close();
      },
    },
    { highWaterMark: 0 },
  );
  const type = route.protocol === "web" ? "application/x-www-form-urlencoded" : "application/json";
  const answer = await world.server.send(route.method, pathOf(route), {
    body: stream,
    headers: { "Content-Type": type, "User-Agent": "Test/1", ...headers, ...credentials },
  });
  return { status: answer.status, read };
}

const HUGE_LENGTH = { "Content-Length": String(HUGE) };

/** Credentials of a kind on a route. */
async function credentialsFor({ protocol }: Route, kind: "reader" | "writer"): Promise<Record<string, string>> {
  const { ann, server } = world;
  const token = kind === "reader" ? ann.reader : ann.token;
  if (protocol === "openpodcast" || protocol === "draft") return { Authorization: `Bearer ${token}` };
  if (protocol !== "web") return basicAuth("ann", token);
  return {
    Cookie: `podkeep_page=${await sessionOf(server.app, ann, "page", kind === "reader" ? "reader" : "password")}`,
  };
}

test("without credentials nothing is read of a body, on any route but those to sign in", async () => {
  for (const route of routes.filter((one) => !isOpen(one))) {
    const { status, read } = await send(route, {}, HUGE_LENGTH);
    expect({ name: route.name, status, read }).toEqual({
      name: route.name,
      status: route.protocol === "web" ? 303 : 401,
      read: 0,
    });
  }
});

test("with a token that may only read, nothing is read of a body that would change something", async () => {
  const changing = routes.filter((one) => !isOpen(one) && !one.path.includes("/auth/") && !isForm(one));
  for (const route of changing) {
    const { status, read } = await send(route, await credentialsFor(route, "reader"), HUGE_LENGTH);
    expect({ name: route.name, status, read }).toEqual({
      name: route.name,
      status: route.protocol === "openpodcast" ? 401 : 403,
      read: 0,
    });
  }
});

const isForm = ({ protocol, path }: Route) => protocol === "web" && path !== "/podcasts/import";

test("with every credential, nothing is read of a body that says that it is over the limit", async () => {
  for (const route of routes) {
    const { status, read } = await send(route, await credentialsFor(route, "writer"), HUGE_LENGTH);
    // The others read no body at all.
    if (status !== 413) expect([route.name, READS_NONE.test(route.name)]).toEqual([route.name, true]);
    expect({ name: route.name, read }).toEqual({ name: route.name, read: 0 });
  }
});

const READS_NONE = /^DELETE|2\/auth|sync-devices|login\/v2$/;

test("those without credentials can send little more than a name and a password", async () => {
  for (const route of routes.filter(isOpen)) {
    const { status } = await send(route, {}, {}, `name=ann&token=${"a".repeat(MOST_OPEN)}`);
    expect([route.name, READS_NONE.test(route.name) || status]).toEqual([
      route.name,
      READS_NONE.test(route.name) || 413,
    ]);
  }
});
