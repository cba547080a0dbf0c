// TLS, as the doctor and the conformance checks see it: certificates that the machine trusts, and those that it doesn't.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openTestApp, type TestApp } from "../support/app.ts";
import { createAuthority, type Tls } from "../support/certificates.ts";
import { openProgram, PROGRAM } from "../support/program.ts";
import { executable } from "../support/start-server.ts";

const folder = mkdtempSync(join(tmpdir(), "podkeep-tls-"));
let authority: Awaited<ReturnType<typeof createAuthority>>;
let podkeep: TestApp;
let token: string;

beforeAll(async () => {
  authority = await createAuthority(folder);
  podkeep = await openTestApp();
  ({ token } = await podkeep.user());
});
afterAll(async () => {
  rmSync(folder, { recursive: true });
  await podkeep.close();
});

interface Row {
  about: string;
  state: string;
  detail: string;
  advice: string | null;
}

/** Serves podkeep at https://localhost. @param tls null to serve plain HTTP there */
function serve(tls: Tls | null) {
  const fetch = (request: Request) => podkeep.http.fetch(request, { address: "127.0.0.1" });
  const server = Bun.serve({ port: 0, hostname: "localhost", fetch, ...(tls && { tls }) });
  return { url: `https://localhost:${server.port}`, stop: () => server.stop(true) };
}

/** What the doctor says of a server with this certificate, on a machine that trusts the CA. */
async function examine(tls: Tls | null, program = openProgram(PROGRAM, { SSL_CERT_FILE: authority.ca })) {
  const server = serve(tls);
  try {
    const { out } = await program.run(["doctor", "--json", "--url", server.url, "--token", token]);
    const rows: Row[] = JSON.parse(out);
    return {
      rows: rows.filter(({ about }) => ["TLS", "public URL", "links", "client addresses"].includes(about)),
      url: server.url,
    };
  } finally {
    await server.stop();
    program.close();
  }
}

const CASES: [what: string, detail: string, advice: string, tls: () => Promise<Tls | null>][] = [
  ["has expired", "its certificate has expired", "Renew", () => authority.issue("DNS:localhost", -1)],
  ["is self-signed", "its certificate is self-signed", "from a CA", () => authority.selfSigned("DNS:localhost")],
  [
    "is for another name",
    "its certificate is for another host",
    "for localhost",
    () => authority.issue("DNS:a.example"),
  ],
  ["is missing, because the port has no TLS", "no TLS on this port", "port that has TLS", async () => null],
];
for (const [what, detail, advice, tls] of CASES) {
  test(`a certificate that ${what} is reported once, with what to do`, async () => {
    const { rows, url } = await examine(await tls());
    expect(rows).toEqual([
      { about: "TLS", state: "problem", detail: `${url}: ${detail}`, advice: expect.stringContaining(advice) },
    ]);
  });
}

test("a proxy with TLS that does not send X-Forwarded-For is reported", async () => {
  const { rows } = await examine(await authority.issue("DNS:localhost"));
  expect(rows).toContainEqual({
    about: "client addresses",
    state: "problem",
    detail: "the proxy at 127.0.0.1 does not say who its clients are: all share its address",
    advice: "Configure the proxy to send X-Forwarded-For",
  });
});

test("a certificate of a CA that this machine does not trust is reported with both ways out", async () => {
  const { rows, url } = await examine(await authority.issue("DNS:localhost"), openProgram());
  const detail = `${url}: its certificate is from a CA that this machine does not trust`;
  expect(rows).toEqual([{ about: "TLS", state: "problem", detail, advice: expect.stringContaining("add it") }]);
});

const BUNDLE = "/etc/ssl/certs/ca-certificates.crt";
/** Runs a command with another file of CAs in the place of the machine's, as root of a namespace. */
const WITH_BUNDLE = ["unshare", "-rm", "sh", "-c", `mount --bind "$0" ${BUNDLE} && exec "$@"`];
const canMount = () => Bun.spawnSync([...WITH_BUNDLE, BUNDLE, "true"], { stderr: "ignore" }).exitCode === 0;
const CAN_MOUNT = Bun.which("unshare") !== null && canMount();
if (!CAN_MOUNT) console.warn(`SKIPPED: CAs of the machine need ${BUNDLE} and a user namespace`);

test.skipIf(!CAN_MOUNT)(
  "doctor, conformance checks and feed lookups trust the CAs that the machine trusts",
  async () => {
    const bundle = join(folder, "bundle.pem");
    writeFileSync(bundle, (await Bun.file(BUNDLE).text()) + (await Bun.file(authority.ca).text()));
    const program = openProgram([...WITH_BUNDLE, bundle, await executable()], {
      PODKEEP_FEED_LOOKUP_ALLOW: "127.0.0.0/8,::1/128",
    });
    const server = serve(await authority.issue("DNS:localhost"));
    const feed = Bun.serve({
      port: 0,
      hostname: "localhost",
      tls: await authority.issue("DNS:localhost"),
      fetch: () => new Response("<rss><channel><title>Home news</title></channel></rss>"),
    });
    const url = `https://localhost:${feed.port}/feed`;
    try {
      const { out } = await program.run(["doctor", "--json", "--url", server.url, "--token", token]);
      expect(JSON.parse(out)).toContainEqual({ about: "TLS", state: "ok", detail: "in use", advice: null });

      const conformance = ["conformance", server.url, "--protocol", "openpodcast", "--token", token];
      expect(await program.run([...conformance, "--check", "change/feed-url"])).toMatchObject({ code: 0 });

      await program.run(["user", "create", "alice"]);
      await program.run(["subscription", "add", "alice", url]);
      expect((await program.run(["feed", "lookup", "alice", url])).out).toContain("Home news");
    } finally {
      await Promise.all([server.stop(), feed.stop(true)]);
      program.close();
    }
  },
);
