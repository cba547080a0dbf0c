// Access: every route of today's apps and of the page with every kind of credential (P8).
import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { revokeToken } from "../../src/services/accounts/tokens.ts";
import { type Answer, START } from "../support/app.ts";
import { basicAuth } from "../support/basic-auth.ts";
import { routesOf } from "./routes.ts";
import {
  EXAMPLES,
  type Example,
  encodeBody,
  fill,
  openRepeatedWorld,
  openWorld,
  type Person,
  rowsOf,
  sessionOf,
  type World,
} from "./two-users.ts";

const DAY = 24 * 60 * 60 * 1000;
const CHALLENGE = 'Basic realm="podkeep", charset="UTF-8"';

let world: Awaited<ReturnType<typeof openRepeatedWorld>>;
let elsewhere: World;
beforeAll(async () => {
  world = await openRepeatedWorld();
  elsewhere = await openWorld();
});
afterAll(async () => {
  await elsewhere.server.close();
  await world.close();
});
afterEach(() => world.reset());

test("the tables list every route", () => {
  const listed = Object.values(EXAMPLES).flatMap((table) => Object.keys(table));
  const served = routesOf(world.server).filter(({ protocol }) => protocol !== "openpodcast");
  expect(listed.toSorted()).toEqual(served.map(({ name }) => name).toSorted());
});

type Headers = Record<string, string>;
const auth = (value: string): Headers => ({ Authorization: value });
const cookie = (name: string, value: string): Headers => ({ Cookie: `${name}=${value}` });

/** Sends the example of a route for ann, with these headers. */
async function ask(name: string, example: Example, headers: Headers): Promise<Answer> {
  const { path, ...sent } = fill(example, world.ann, world.bob);
  const encoded = await encodeBody(sent);
  return world.server.send(name.split(" ")[0] ?? "", path, {
    headers: { "User-Agent": "Test/1", "OCS-APIRequest": "true", ...encoded.headers, ...headers },
    ...(encoded.body !== undefined && { body: encoded.body }),
  });
}

const bytes = (...numbers: number[]) => `Basic ${Buffer.from(numbers).toString("base64")}`;

/** What is refused on routes of apps. */
async function refusedByApps({ server, ann, bob }: World, sessions: boolean): Promise<Record<string, Headers>> {
  const { app } = server;
  const good = await sessionOf(app, ann, "app", "password");
  const foreign = await sessionOf(elsewhere.server.app, elsewhere.ann, "app", "password");
  await revokeToken(app, ann.spare_id);
  const mistyped = `${ann.token.slice(0, -1)}${ann.token.endsWith("a") ? "b" : "a"}`;
  return {
    "no credentials": {},
    "an empty header": auth(""),
    "no colon": auth(`Basic ${btoa("ann")}`),
    "an empty password": basicAuth("ann", ""),
    "an empty name": basicAuth("", ann.token),
    "a wrong password": basicAuth("ann", "wrong"),
    "an unknown user": basicAuth("carol", "wrong"),
    "a password of 1 MB": basicAuth("ann", "a".repeat(2 ** 20)),
    "a name of 1 MB": basicAuth("a".repeat(2 ** 20), ann.token),
    "a name that is not UTF-8": auth(bytes(0xff, 0xfe, 0x3a, 0x61)),
    "a password that is not UTF-8": auth(bytes(0x61, 0x6e, 0x6e, 0x3a, 0xc3, 0x28)),
    "a name with NUL": basicAuth("ann\0", ann.token),
    "another scheme": auth("Digest username=ann"),
    "two Authorization headers": auth(`Bearer ${ann.token}, Bearer ${ann.token}`),
    "a mistyped token": auth(`Bearer ${mistyped}`),
    "a mistyped token as password": basicAuth("ann", mistyped),
    "another user's token": basicAuth("ann", bob.token),
    "a revoked token's session": cookie("sessionid", good.replace(/\.[^.]*\./, ".e30.")),
    "a forged session": cookie("sessionid", `${good.slice(0, -4)}aaaa`),
    "a cut session": cookie("sessionid", good.slice(0, -1)),
    "an expired session": cookie("sessionid", await sessionOf(app, ann, "app", "password", START - 366 * DAY)),
    "another server's session": cookie("sessionid", foreign),
    "the page's session": cookie("sessionid", await sessionOf(app, ann, "page", "password")),
    "the page's cookie": cookie("podkeep_page", await sessionOf(app, ann, "page", "password")),
    ...(sessions ? {} : { "an app's session": cookie("sessionid", good) }),
  };
}

/** What is refused on the page: Authorization does not count there. */
async function refusedByPage({ server, ann }: World): Promise<Record<string, Headers>> {
  const { app } = server;
  const good = await sessionOf(app, ann, "page", "password");
  const foreign = await sessionOf(elsewhere.server.app, elsewhere.ann, "page", "password");
  return {
    "no credentials": {},
    Basic: basicAuth("ann", ann.token),
    Bearer: auth(`Bearer ${ann.token}`),
    "an app's session": cookie("podkeep_page", await sessionOf(app, ann, "app", "password")),
    "an app's cookie": cookie("sessionid", await sessionOf(app, ann, "app", "password")),
    "a forged session": cookie("podkeep_page", `${good.slice(0, -4)}aaaa`),
    "a cut session": cookie("podkeep_page", good.slice(0, -1)),
    "an expired session": cookie("podkeep_page", await sessionOf(app, ann, "page", "password", START - 31 * DAY)),
    "another server's session": cookie("podkeep_page", foreign),
  };
}

const textOf = ({ body }: Answer) => (typeof body === "string" ? body : JSON.stringify(body));

async function expectAll(
  name: string,
  example: Example,
  kinds: Record<string, Headers>,
  expected: (kind: string) => { status: number; challenge: string | null; location: string | null },
): Promise<void> {
  for (const [kind, headers] of Object.entries(kinds)) {
    const answer = await ask(name, example, headers);
    const challenge = answer.headers.get("www-authenticate");
    const location = answer.headers.get("location")?.split("?")[0] ?? null;
    expect({ kind, status: answer.status, challenge, location }).toEqual({ kind, ...expected(kind) });
    expect(textOf(answer)).not.toContain(world.ann.mark);
  }
}

/** Asks for ann's data as bob; bob has what is his, and nothing of hers. */
async function askAsBob(name: string, example: Example, headers: Headers): Promise<void> {
  const before = rowsOf(world, world.ann);
  // What bob sends has no word of ann's.
  const { mark } = world.ann;
  const sent = { ...example, path: fill(example.path, world.ann, world.bob) };
  const asBob = fill(sent, world.bob, world.ann);
  const answer = await ask(name, asBob, headers);
  expect({ status: answer.status }).toEqual({ status: example.other });
  expect(textOf(answer)).not.toContain(mark);
  expect(rowsOf(world, world.ann)).toEqual(before);
}

const APPS = [
  ...Object.entries(EXAMPLES.gpodder).map(([name, example]) => [name, example, true] as const),
  ...Object.entries(EXAMPLES.nextcloud).map(([name, example]) => [name, example, false] as const),
];

describe.each(APPS)("%s", (name, example, sessions) => {
  test("refuses bad credentials with a challenge, and changes nothing", async () => {
    const kinds = await refusedByApps(world, sessions);
    const before = rowsOf(world);
    await expectAll(name, example, kinds, () => ({
      status: 401,
      challenge: CHALLENGE,
      location: null,
    }));
    expect(rowsOf(world)).toEqual(before);
  });

  test("takes the user's password, token and session, and no writes from a token that may only read", async () => {
    const { ann, server } = world;
    const readers: Headers[] = [basicAuth("ANN", ann.reader), auth(`Bearer ${ann.reader}`)];
    const good: Headers[] = [
      basicAuth("ann", ann.token),
      auth(`Bearer ${ann.token}`),
      basicAuth("Ann", world.ann.password),
    ];
    if (sessions) {
      readers.push(cookie("sessionid", await sessionOf(server.app, ann, "app", "reader")));
      for (const by of ["password", "token"] as const) {
        good.push(cookie("sessionid", await sessionOf(server.app, ann, "app", by)));
      }
    }
    const before = rowsOf(world);
    for (const headers of readers) expect((await ask(name, example, headers)).status).toBe(example.reader);
    if (example.reader === 403) expect(rowsOf(world)).toEqual(before);
    for (const headers of good) expect((await ask(name, example, headers)).status).toBe(example.status);
  });

  test("gives and changes nothing of another user", async () => {
    await askAsBob(name, example, basicAuth("bob", world.bob.token));
    await askAsBob(name, example, auth(`Bearer ${world.bob.token}`));
  });
});

describe.each(Object.entries(EXAMPLES.app_passwords))("%s", (name, example) => {
  test("refuses bad credentials with a challenge, and changes nothing", async () => {
    const kinds = await refusedByApps(world, false);
    const before = rowsOf(world);
    await expectAll(name, example, kinds, () => ({ status: 401, challenge: CHALLENGE, location: null }));
    expect(rowsOf(world)).toEqual(before);
  });

  test("changes nothing of another user", async () => {
    const before = rowsOf(world, world.ann);
    for (const headers of [basicAuth("bob", world.bob.password), basicAuth("bob", world.bob.token)]) {
      await ask(name, example, headers);
    }
    expect(rowsOf(world, world.ann)).toEqual(before);
  });
});

describe.each(Object.entries(EXAMPLES.draft))("%s", (name, example) => {
  test("refuses bad credentials with a challenge, and changes nothing", async () => {
    const { ann } = world;
    const kinds = await refusedByApps(world, false);
    const before = rowsOf(world);
    for (const [kind, headers] of Object.entries({ ...kinds, Basic: basicAuth("ann", ann.token) })) {
      const answer = await ask(name, example, headers);
      expect({ kind, status: answer.status }).toEqual({ kind, status: 401 });
      expect(answer.headers.get("www-authenticate")).toStartWith('Bearer realm="podkeep"');
      expect(textOf(answer)).not.toContain(ann.mark);
    }
    expect(rowsOf(world)).toEqual(before);
  });

  test("takes the user's token and access token, and no writes from a token that may only read", async () => {
    const { ann, server } = world;
    const logIn = async (password: string) => {
      const { body } = await server.send("POST", "/auth/login", {
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify({ username: "ann", password }),
      });
      return auth(`Bearer ${body.access_token}`);
    };
    const [readers, good] = [[auth(`Bearer ${ann.reader}`)], [auth(`Bearer ${ann.token}`)]];
    readers.push(await logIn(ann.reader));
    good.push(await logIn(ann.token), await logIn(ann.password));
    const before = rowsOf(world);
    for (const headers of readers) expect((await ask(name, example, headers)).status).toBe(example.reader);
    if (example.reader === 403) expect(rowsOf(world)).toEqual(before);
    for (const headers of good) expect((await ask(name, example, headers)).status).toBe(example.status);
  });

  test("gives and changes nothing of another user", async () => {
    await askAsBob(name, example, auth(`Bearer ${world.bob.token}`));
  });
});

describe.each(Object.entries(EXAMPLES.page))("%s", (name, example) => {
  const session = async (who: Person, by: "password" | "token" | "reader") =>
    cookie("podkeep_page", await sessionOf(world.server.app, who, "page", by));

  test("leads to the sign-in page without a good session, and changes nothing", async () => {
    const kinds = await refusedByPage(world);
    const before = rowsOf(world);
    await expectAll(name, example, kinds, () =>
      name === "GET /"
        ? { status: 200, challenge: null, location: null }
        : { status: 303, challenge: null, location: "/sign-in" },
    );
    expect(rowsOf(world)).toEqual(before);
  });

  test("takes the user's session, and from one by token only what its scope allows", async () => {
    for (const [by, status] of [
      ["reader", example.reader],
      ["token", example.token ?? example.status],
      ["password", example.status],
    ] as const) {
      const headers = await session(world.ann, by);
      const before = rowsOf(world);
      const answer = await ask(name, example, headers);
      expect({ by, status: answer.status }).toEqual({ by, status });
      if (status === 403) expect(rowsOf(world)).toEqual(before);
      if (status === 403 || !example.form) continue;
      await world.reset();
    }
  });

  test("is refused from another site", async () => {
    const headers = { ...(await session(world.ann, "password")), "Sec-Fetch-Site": "cross-site" };
    const before = rowsOf(world);
    const answer = await ask(name, example, headers);
    expect(answer.status).toBe(403);
    expect(textOf(answer)).not.toContain(world.ann.mark);
    expect(rowsOf(world)).toEqual(before);
  });

  test("gives and changes nothing of another user", async () => {
    await askAsBob(name, example, await session(world.bob, "password"));
  });
});

describe.each(Object.entries(EXAMPLES.open))("%s", (name, example) => {
  test("answers everybody the same", async () => {
    const { ann, server } = world;
    for (const headers of [
      {},
      basicAuth("ann", "wrong"),
      auth(`Bearer ${ann.token}`),
      cookie("podkeep_page", await sessionOf(server.app, ann, "page", "password")),
    ]) {
      const answer = await ask(name, example, headers);
      expect(answer.status).toBe(example.status);
      expect(textOf(answer)).not.toContain(ann.mark);
    }
  });
});
