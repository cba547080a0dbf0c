// `podkeep conformance` against servers that are slow, broken, wrong, or not sync servers at all.
import { afterEach, beforeEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { rateFor } from "../../../cli/commands/conformance.ts";
import { createNaiveServer } from "../../conformance/naive-server.ts";
import { basicAuth } from "../../support/basic-auth.ts";
import { PATIENCE } from "../../support/patience.ts";
import { openProgram, PROGRAM, type Ran } from "../../support/program.ts";

setDefaultTimeout(PATIENCE);

const CHECK = ["--check", "subscriptions/again-changes-nothing"];
const CLOCK = { now: Date.now, sleep: Bun.sleep };

let podkeep: ReturnType<typeof openProgram>;
let servers: Bun.Server<undefined>[] = [];
beforeEach(() => {
  podkeep = openProgram();
});
afterEach(async () => {
  podkeep.close();
  for (const server of servers) await server.stop(true);
  servers = [];
});

type Handler = (request: Request) => Response | Promise<Response>;

/** Serves on loopback. @returns the URL without a slash at its end */
function serve(fetch: Handler, tls?: { key: string; cert: string }): string {
  const server = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch, ...(tls && { tls }), idleTimeout: 0 });
  servers.push(server);
  return server.url.origin;
}

/** The naive server behind a handler that may answer in its place. */
function serveNaive(instead: (request: Request) => Response | null | Promise<Response | null> = () => null) {
  const naive = createNaiveServer(CLOCK);
  const url = serve(async (request) => (await instead(request)) ?? naive.send(request));
  return { naive, url, password: naive.password ?? "" };
}

const file = (name: string) => join(podkeep.folder, name);
const run = (url: string, args: string[] = [], password = "a password of the naive server") =>
  podkeep.run(["conformance", url, "--user", "test", "--password-stdin", ...args], password);

/** A failure in words: no stack trace, no name of an exception. */
function expectWords({ code, err }: Ran, words: string | RegExp): void {
  expect(err).toMatch(words);
  expect(err).not.toMatch(/\n\s+at |TypeError|DOMException/);
  expect(code).toBe(1);
}

const list = async (naive: ReturnType<typeof createNaiveServer>): Promise<string[]> => {
  const headers = basicAuth("test", naive.password ?? "");
  const request = new Request("http://naive.test/api/2/subscriptions/test/x.json?since=0", { headers });
  const { add } = (await (await naive.send(request)).json()) as { add: string[] };
  return add;
};

test("a server that passes gives a table and exit code 0, and its list is empty afterwards", async () => {
  const { naive, url } = serveNaive();
  const { code, out, err } = await run(url, CHECK);
  expect([code, out]).toEqual([
    0,
    "CHECKS\tPASSED\tFAILED\tSKIPPED\ngpodder/subscriptions\t1\t0\t0\nnextcloud/subscriptions\t1\t0\t0\n",
  ]);
  expect(err).toMatch(/^2 checks, \d+ requests\n$/);
  expect(await list(naive)).toEqual([]);
});

test("checks that are skipped say why, once for each reason", async () => {
  const { url } = serveNaive();
  const { code, out } = await run(url, ["--check", "nextcloud/login/", "--markdown", file("report.md")]);
  const reason = "3 skipped: the server has no login flow v2";
  expect([code, out]).toEqual([0, `CHECKS\tPASSED\tFAILED\tSKIPPED\nnextcloud/login\t0\t0\t3\n${reason}\n`]);
  expect(readFileSync(file("report.md"), "utf8")).toContain(reason);
});

test("a run of one check is counted as one", async () => {
  const { url } = serveNaive();
  const { err } = await run(url, ["--check", "nextcloud/subscriptions/again-changes-nothing"]);
  expect(err).toMatch(/^1 check, (1 request|\d+ requests)\n$/);
});

test("what the server does not remove is said, and so is a list that can't be read afterwards", async () => {
  const removes = async ({ method, url }: Request, text: string) =>
    method === "POST" && url.includes("/subscription") && JSON.parse(text).remove.length > 0;
  const { naive, url } = serveNaive(async (request) =>
    (await removes(request, await request.clone().text())) ? new Response("", { status: 500 }) : null,
  );
  const { code, err } = await run(url, [...CHECK, "--protocol", "gpodder", "--markdown", file("report.md")]);
  expect([code, err]).toEqual([0, expect.stringContaining("1 subscription that the run added is still there")]);
  expect(await list(naive)).toHaveLength(1);
  expect(readFileSync(file("report.md"), "utf8")).toContain("1 subscription that the run added is still there");

  let uploaded = false;
  const unreadable = serveNaive(({ method, url }) => {
    uploaded ||= method === "POST" && /\/subscriptions\/(?!.*podkeep-conformance)/.test(url);
    return uploaded && url.includes("since=") ? new Response("oops") : null;
  });
  const ran = await run(unreadable.url, [...CHECK, "--protocol", "gpodder"]);
  expect(ran.err).toContain("What the run added may still be there: its list can't be read");
});

test("a URL with a path and a slash at its end is the base of every request", async () => {
  const naive = createNaiveServer(CLOCK);
  const url = serve((request) => {
    const { pathname, search } = new URL(request.url);
    if (!pathname.startsWith("/pod/")) return new Response("", { status: 404 });
    return naive.send(new Request(`http://naive.test${pathname.slice(4)}${search}`, request));
  });
  expect((await run(`${url}/pod/`, CHECK)).code).toBe(0);
});

test("a terminal shows how far the run is, on one line that ends with it; a file does not", async () => {
  const { url, password } = serveNaive();
  const terminal = podkeep.spawnOnTerminal(
    ["conformance", url, "--user", "test", "--token", password, ...CHECK],
    {},
    40,
  );
  const { code, shown } = await terminal.ended();
  expect(code).toBe(0);
  const [, first, second, rest = ""] = shown.split("\r\x1b[K");
  expect([first, second]).toEqual([
    "1/2 gpodder/subscriptions/again-changes-",
    "2/2 nextcloud/subscriptions/again-change",
  ]);
  expect(Bun.stripANSI(rest)).toStartWith("CHECKS");
  const { out, err } = await run(url, CHECK);
  for (const mark of ["\r", "\x1b", "1/2"]) expect((out + err).includes(mark)).toBe(false);
});

test("a server whose clock is another one is named, because checks send the time of this machine", async () => {
  const naive = createNaiveServer(CLOCK);
  for (const [ahead, words] of [
    [3600, /^The server's clock is 3(600|59\d) s ahead of this machine's: /m],
    [-90, /^The server's clock is (89|9\d) s behind this machine's: /m],
    [0, null],
  ] as const) {
    const url = serve(async (request) => {
      const { status, body, headers } = await naive.send(request);
      const given = new Headers(headers);
      given.set("Date", new Date(Math.floor(Date.now() / 1000 + ahead) * 1000).toUTCString());
      return new Response(body, { status, headers: given });
    });
    const { code, err } = await run(url, CHECK);
    expect(code).toBe(0);
    if (words) expect(err).toMatch(words);
    else expect(err).not.toContain("clock");
  }
});

test("a server on this machine is asked without a limit, any other ten times a second", () => {
  expect(["http://127.0.0.1:8042", "http://localhost/pod", "http://[::1]:8042"].map(rateFor)).toEqual([0, 0, 0]);
  expect(["https://podcasts.example.org", "http://192.168.1.20:8042"].map(rateFor)).toEqual([10, 10]);
});

describe("what is no server to check is named", () => {
  test("wrong credentials", async () => {
    expectWords(await run(serveNaive().url, CHECK, "wrong"), /refuses the credentials \(401\)/);
  });

  test("credentials that may only read, and no check fails for it", async () => {
    const { url, password } = serveNaive(({ method }) => (method === "GET" ? null : new Response("", { status: 403 })));
    expectWords(await run(url, CHECK, password), /gpodder: POST \S+ refuses the credentials \(403\); nextcloud: POST /);
    const empty = { total: 0, page: 1, per_page: 50, subscriptions: [], results: [], has_next: false };
    const lists = serve(({ method }) =>
      method === "GET" ? Response.json(empty) : Response.json({ code: "401", message: "" }, { status: 401 }),
    );
    expectWords(
      await podkeep.run(["conformance", lists, "--token", "a-token"]),
      /openpodcast: POST \S+ refuses the credentials \(401\); openpodcast-draft: POST /,
    );
  });

  test("pages of HTML", async () => {
    const url = serve(() => new Response("<html>", { headers: { "Content-Type": "text/html" } }));
    expectWords(await run(url), /gpodder: .*a page of HTML \(200, text\/html\); nextcloud: /);
  });

  test("a redirect, with where it leads", async () => {
    const url = serve(() => Response.redirect("https://www.example.org/", 301));
    expectWords(await run(url), /redirects to https:\/\/www\.example\.org\/;/);
  });

  test("a redirect of every path, with the server's URL to use", async () => {
    const url = serve(({ url }) =>
      Response.redirect(url.replace(/^http:\/\/[^/]*/, "https://pod.example.org/sync"), 301),
    );
    expectWords(await run(url), /redirects to \S+since=0: use https:\/\/pod\.example\.org\/sync(;|$)/);
  });

  test("a redirect that names a path alone, with the server's URL to use", async () => {
    const url = serve(({ url }) => {
      const { pathname, search } = new URL(url);
      return new Response("", { status: 308, headers: { Location: `/sync${pathname}${search}` } });
    });
    const { err } = await run(url);
    expect(err).toMatch(new RegExp(`redirects to \\S+since=0: use ${url}/sync(;|$)`, "m"));
  });

  test("500 everywhere", async () => {
    expectWords(await run(serve(() => new Response("oops", { status: 500 }))), "got status 500");
  });

  test("nothing at all", async () => {
    const url = serve(() => new Response(""));
    await servers.pop()?.stop(true);
    expectWords(await run(url), /does not respond: connection refused/);
  });

  test("a response that never comes", async () => {
    const url = serve(() => new Promise<Response>(() => {}));
    expectWords(await run(url, ["--timeout", "1"]), "no complete response in 1 s");
  });

  test("a response without an end", async () => {
    const piece = new Uint8Array(1024 * 1024).fill(120);
    const pull = (controller: ReadableStreamDefaultController) => controller.enqueue(piece);
    expectWords(await run(serve(() => new Response(new ReadableStream({ pull })))), "larger than 16 MB");
  });

  test("a certificate that nobody has signed", async () => {
    const [key, cert] = [file("key.pem"), file("cert.pem")];
    const subject = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"];
    const files = ["-nodes", "-keyout", key, "-out", cert];
    const made = Bun.spawnSync(["openssl", "req", "-x509", "-newkey", "rsa:2048", ...files, ...subject]);
    expect(made.exitCode).toBe(0);
    const url = serve(() => new Response(""), { key: readFileSync(key, "utf8"), cert: readFileSync(cert, "utf8") });
    expectWords(await run(url), "its certificate is self-signed; NODE_EXTRA_CA_CERTS=FILE makes this run trust it");
    const trusting = openProgram(PROGRAM, { NODE_EXTRA_CA_CERTS: cert });
    expectWords(await trusting.run(["conformance", url, "--token", "a-token"]), "an empty body");
    trusting.close();
  });

  test("a URL that is none, before anything is asked", async () => {
    const accounts = ["https://ann:secret@example.org", "https://:secret@example.org"];
    const pasted = "https://https://example.org";
    for (const url of ["podcasts.example.org", "ftp://example.org", ...accounts, pasted]) {
      const { code, err } = await run(url);
      expect([code, err]).toEqual([2, expect.stringContaining("is not a server's URL")]);
    }
  });
});

test("a protocol that the server speaks, but so that no check can run, fails the run and JUnit", async () => {
  const isNextcloud = ({ url }: Request) => url.includes("/index.php/");
  for (const [answer, words] of [
    [() => new Response("oops", { status: 500 }), "Expected success, got status 500"],
    [() => Response.json({ add: null }), "body.add: Invalid input: expected array, received null (200)"],
  ] as const) {
    const { url } = serveNaive((request) => (isNextcloud(request) ? answer() : null));
    const { code, err } = await run(url, [...CHECK, "--junit", file("report.xml")]);
    expect([code, err]).toEqual([1, expect.stringContaining("The server speaks nextcloud, but not so that it can be")]);
    expect(err).toContain(words);
    expect(readFileSync(file("report.xml"), "utf8")).toContain('<testsuite name="nextcloud" tests="1" errors="1">');
  }
  const { url } = serveNaive((request) => (isNextcloud(request) ? new Response("<html>") : null));
  expect((await run(url, CHECK)).code).toBe(0);
});

test("a server that goes away in the middle ends the run, and the report says so", async () => {
  let requests = 0;
  const { url } = serveNaive(() => {
    if (++requests > 10) void servers[0]?.stop(true);
    return null;
  });
  const ran = await run(url, ["--check", "episodes/", "--markdown", file("report.md")]);
  expectWords(ran, "The server no longer responds: ");
  expect(readFileSync(file("report.md"), "utf8")).toContain("The run ended early: The server no longer responds");
});

test("one route that does not respond fails its check, and the others are checked", async () => {
  const isWhole = ({ method, url }: Request) => method === "PUT" && url.includes("/subscriptions/");
  const { url } = serveNaive((request) => (isWhole(request) ? new Promise(() => {}) : null));
  const wanted = ["--protocol", "gpodder", "--check", "gpodder/subscriptions/"];
  const { code, json } = await podkeep
    .run(
      ["conformance", url, "--user", "test", "--password-stdin", "--timeout", "2", ...wanted, "--json"],
      "a password of the naive server",
    )
    .then(({ code, out }) => ({ code, json: JSON.parse(out) }));
  const failed = json.results.filter(
    (one: { outcome: string; level: string }) => one.outcome === "failed" && one.level === "MUST",
  );
  expect(failed.map((one: { id: string }) => one.id)).toEqual([
    "gpodder/subscriptions/whole-list-has-an-empty-response",
  ]);
  expect([code, json.ended]).toEqual([1, null]);
});

test("an account with subscriptions is refused without --yes, and keeps them with it", async () => {
  const { naive, url } = serveNaive();
  const headers = basicAuth("test", naive.password ?? "");
  const body = JSON.stringify({ add: ["https://a.example/rss"], remove: [] });
  await naive.send(new Request("http://naive.test/api/2/subscriptions/test/x.json", { method: "POST", headers, body }));
  expectWords(await run(url, CHECK), "The account has 1 subscription: use an empty one, or add --yes");
  expect((await run(url, [...CHECK, "--yes"])).code).toBe(0);
  expect(await list(naive)).toEqual(["https://a.example/rss"]);
});

test("a report that can't be written, or would overwrite the other one, is found before the first request", async () => {
  let requests = 0;
  const { url } = serveNaive(() => {
    requests++;
    return null;
  });
  for (const option of ["--junit", "--markdown"]) {
    const { code, err } = await run(url, [option, file("no-folder/report")]);
    expect([code, err]).toEqual([2, expect.stringContaining("can't be written: no such file or directory")]);
  }
  const { code, err } = await run(url, ["--junit", file("report"), "--markdown", `${podkeep.folder}/./report`]);
  expect([code, err]).toEqual([2, expect.stringContaining("name one file")]);
  expect(requests).toBe(0);
});

test("a part of an id that no check has, and checks of what is not checked here, are told apart", async () => {
  const { url } = serveNaive(({ url: of }) => (of.includes("/index.php/") ? new Response("", { status: 404 }) : null));
  const { code, err } = await run(url, ["--check", "no-such-check"]);
  expect([code, err]).toEqual([4, expect.stringContaining('No check has "no-such-check" in its id')]);
  expectWords(
    await run(url, ["--check", "nextcloud/auth"]),
    /The checks with "nextcloud\/auth" in their id are of nextcloud, which is not checked: \S+ does not exist/,
  );
  expectWords(
    await run(url, ["--check", "/auth/scheme"]),
    'The checks with "/auth/scheme" in their id are of openpodcast, which is not checked: add its credentials',
  );
  expectWords(
    await run(url, ["--protocol", "gpodder", "--check", "nextcloud/auth"]),
    "which is not checked: leave --protocol gpodder out",
  );
});

test("Ctrl-C removes what the run has added, and the report has what was checked until then", async () => {
  const { promise: uploaded, resolve } = Promise.withResolvers<void>();
  const { naive, url } = serveNaive(({ method, url }) => {
    if (method === "POST" && /\/subscriptions\/(?!.*podkeep-conformance)/.test(url)) resolve();
    return null;
  });
  const args = ["conformance", url, "--user", "test", "--password-stdin", "--rate", "20", "--markdown", "report.md"];
  const child = Bun.spawn([...PROGRAM, ...args], {
    cwd: podkeep.folder,
    stdin: new Blob([naive.password ?? ""]),
    stderr: "pipe",
  });
  await uploaded;
  child.kill("SIGINT");
  const [err, code] = [await child.stderr.text(), await child.exited];
  expect([code, err]).toEqual([1, expect.stringContaining("The run was interrupted")]);
  expect(await list(naive)).toEqual([]);
  expect(readFileSync(file("report.md"), "utf8")).toContain("The run ended early: The run was interrupted");
});

test("the Markdown report fits into an issue, names every failure, and proves the first ones", async () => {
  const { url } = serveNaive(({ method }) =>
    method === "POST" ? new Response("é".repeat(9000), { status: 500 }) : null,
  );
  const { out } = await run(url, ["--check", "gpodder/", "--markdown", file("report.md")]);
  const report = readFileSync(file("report.md"), "utf8");
  expect(report.length).toBeLessThan(65_536);
  const failed = [...out.matchAll(/^failed (\S+) /gm)].map(([, id = ""]) => id);
  expect(failed.length).toBeGreaterThan(15);
  const [start = "", rest = ""] = report.split(/^## \d+ more$/m);
  const proven = [...start.matchAll(/^## (\S+)$/gm)].map(([, id = ""]) => id);
  const listed = [...rest.matchAll(/^- `(\S+)` \(/gm)].map(([, id = ""]) => id);
  expect([...proven, ...listed]).toEqual(failed);
  expect(start.match(/^```http$/gm)?.length).toBe(proven.length);
  expect(listed.length).toBeGreaterThan(0);
});

test("no report has a password, a token, Basic or a cookie", async () => {
  const secret = "session-secret-of-a-server";
  const { url, password } = serveNaive(async (request) => {
    const text = await request.clone().text();
    if (!/again-|POST/.test(request.method)) return null;
    const token = { token: "token-in-a-body", url: `${new URL(request.url).origin}/?access_token=token-in-a-url` };
    const headers = {
      "Set-Cookie": `sessionid=${secret}; Path=/`,
      "X-Echo": request.headers.get("authorization") ?? "",
    };
    return Response.json({ echo: [text, secret, password], poll: token }, { status: 500, headers });
  });
  const reports = ["--junit", file("report.xml"), "--markdown", file("report.md")];
  const args = [
    "--check",
    "subscriptions/again",
    "--token",
    "a-bearer-token",
    "--second-token",
    "another-bearer-token",
  ];
  const [plain, json] = [
    await run(url, [...args, ...reports]),
    await podkeep
      .run(
        ["conformance", url, "--user", "test", "--password-stdin", "--protocol", "gpodder", ...args, "--json"],
        password,
      )
      .catch(() => null),
  ];
  const texts = [
    plain.out,
    plain.err,
    json?.out ?? "",
    readFileSync(file("report.xml"), "utf8"),
    readFileSync(file("report.md"), "utf8"),
  ];
  expect(texts.every((text) => text.length > 0)).toBe(true);
  const basic = Buffer.from(`test:${password}`).toString("base64");
  const secrets = [
    password,
    basic,
    secret,
    "token-in-a-body",
    "token-in-a-url",
    "a-bearer-token",
    "another-bearer-token",
  ];
  for (const text of texts) for (const one of secrets) expect(text.includes(one) && one).toBe(false);
  expect(texts.at(-1)).toContain("Authorization: Basic ***");
});

test.skipIf(!existsSync("/usr/bin/python3"))("the JUnit report is XML for any response of the server", async () => {
  const nasty = `]]>&<"'\u0000\u0008\ud800`;
  const { url } = serveNaive(({ method }) => (method === "POST" ? new Response(nasty, { status: 500 }) : null));
  const { code } = await run(url, ["--check", "subscriptions/again", "--junit", file("report.xml")]);
  expect(code).toBe(1);
  const read = "import sys, xml.dom.minidom as m; print(len(m.parse(sys.argv[1]).getElementsByTagName('failure')))";
  const parsed = Bun.spawnSync(["/usr/bin/python3", "-c", read, file("report.xml")]);
  expect(parsed.stdout.toString()).toBe("2\n");
});

test("JUnit lists the protocols for which the server refuses the credentials", async () => {
  const { url, password } = serveNaive();
  const report = file("report.xml");
  const { code } = await podkeep.run([
    "conformance",
    url,
    "--user",
    "test",
    "--token",
    password,
    ...CHECK,
    "--junit",
    report,
  ]);
  const junit = readFileSync(report, "utf8");
  expect(code).toBe(0);
  for (const protocol of ["openpodcast", "openpodcast-draft"]) {
    expect(junit).toContain(`<testsuite name="${protocol}" tests="1" skipped="1"><testcase name="${protocol}">`);
  }
  expect(junit).toContain("refuses the credentials (401)");
});
