// The gPodder API and Nextcloud's gPodder Sync, for one app on one device.
import { z } from "zod";
import { parseJson } from "../../json.ts";
import { Failure, NotApplicable, requireSuccess } from "../expect.ts";
import type { Answer, Prober, Sent } from "../prober.ts";
import type { SyncApp } from "./apps.ts";

/** Qt reads timestamps that are no integers as 0, AntennaPod refuses them. */
const seconds = z.number().int().min(0);
const Changes = z.looseObject({ add: z.array(z.string()), remove: z.array(z.string()), timestamp: seconds });
const Uploaded = z.looseObject({ timestamp: seconds });
/** AntennaPod needs both. */
export const CompleteUpload = Uploaded.extend({ update_urls: z.array(z.tuple([z.string(), z.string()])) });
const Action = z.looseObject({
  podcast: z.string(),
  episode: z.string(),
  action: z.string(),
  timestamp: z.string(),
  guid: z.string().nullish(),
  device: z.string().nullish(),
  started: z.number().nullish(),
  position: z.number().nullish(),
  total: z.number().nullish(),
});
const Listed = z.looseObject({ actions: z.array(z.unknown()), timestamp: seconds });
const Actions = Listed.extend({ actions: z.array(Action) });
const Named = z.looseObject({ podcast: z.string() });

/** What an app reports of an episode. Times are UTC, without a zone. */
export type Action = z.infer<typeof Action>;

const NEXTCLOUD = "/index.php/apps/gpoddersync";

interface Identity extends Pick<SyncApp, "protocol" | "user_agent" | "describes_device"> {
  /** `either`: with each request; after a login, and a description of the device, if the server wants them. */
  signs_in: SyncApp["signs_in"] | "either";
}

/** Scripts that know nothing but the protocol. */
export const scriptFor = (protocol: Identity["protocol"]): Identity => ({
  protocol,
  user_agent: "podkeep-conformance/1",
  signs_in: "either",
  describes_device: false,
});

/** A script of the gPodder API that sends its password in a login only. */
export const LOGIN_SCRIPT: Identity = { ...scriptFor("gpodder"), signs_in: "login" };

/** The cookies of responses by their names, each as it is sent. */
export class Cookies {
  readonly #pairs = new Map<string, string>();

  constructor(headers = new Headers()) {
    this.keep(headers);
  }

  keep(headers: Headers): void {
    for (const cookie of headers.getSetCookie()) {
      const [pair = ""] = cookie.split(";");
      this.#pairs.set(pair.split("=")[0] ?? "", pair);
    }
  }

  names = () => [...this.#pairs.keys()];
  /** A Cookie header; null without cookies. */
  header = () => (this.#pairs.size === 0 ? null : [...this.#pairs.values()].join("; "));
}

/** Where requests go; what begins with `list` only the gPodder API has. */
function pathsOf(protocol: Identity["protocol"], user: string, device: string) {
  const name = encodeURIComponent(user);
  const [feeds, episodes] = [`/api/2/subscriptions/${name}/${device}.json`, `/api/2/episodes/${name}.json`];
  const shared =
    protocol === "gpodder"
      ? { read: feeds, upload: feeds, readActions: episodes, uploadActions: episodes }
      : {
          read: `${NEXTCLOUD}/subscriptions`,
          upload: `${NEXTCLOUD}/subscription_change/create`,
          readActions: `${NEXTCLOUD}/episode_action`,
          uploadActions: `${NEXTCLOUD}/episode_action/create`,
        };
  return {
    ...shared,
    list: `/subscriptions/${name}/${device}.json`,
    opml: `/subscriptions/${name}.opml`,
    login: `/api/2/auth/${name}/login.json`,
    logout: `/api/2/auth/${name}/logout.json`,
    device: `/api/2/devices/${name}/${device}.json`,
    devices: `/api/2/devices/${name}.json`,
    syncDevices: `/api/2/sync-devices/${name}.json`,
  };
}

/** @throws NotApplicable if two devices that name themselves nowhere would have one password */
export function requireTwoPasswords({ target }: Prober): void {
  if (target.second_password !== null) return;
  throw new NotApplicable("its two devices need a password each, or they are one app to a server: add --second-token");
}

/** Whose app it is: the second one has another password if the account has one. */
type Owner = "first" | "second" | "another user";

/** @throws NotApplicable if the run has none of this owner */
function credentialsOf({ target }: Prober, owner: Owner): { user: string; password: string } {
  const { user, password: first, second_password, other_user, other_user_token } = target;
  if (owner === "another user") {
    if (other_user !== null && other_user_token !== null) return { user: other_user, password: other_user_token };
    throw new NotApplicable("it needs another user: add --other-user and --other-user-token");
  }
  const password = owner === "second" ? (second_password ?? first) : first;
  if (password === null) throw new NotApplicable("it needs a name and a password: add --user and --password-stdin");
  return { user, password };
}

/** Signs in as an app does, and sends its requests. */
function signerFor(
  prober: Prober,
  { protocol, user_agent, signs_in, describes_device }: Identity,
  { paths, device, basic }: { paths: ReturnType<typeof pathsOf>; device: string; basic: { Authorization: string } },
) {
  const isNextcloud = protocol === "nextcloud";
  const cookies = new Cookies();
  let isKnown = false;
  let hasLoggedIn = false;

  const send = async (method: string, path: string, { body, headers }: Sent): Promise<Answer> => {
    const cookie = cookies.header();
    const answer = await prober.request(method, path, {
      body,
      headers: {
        ...(user_agent !== null && { "User-Agent": user_agent }),
        ...(cookie !== null && { Cookie: cookie }),
        ...headers,
      },
    });
    cookies.keep(answer.headers);
    return answer;
  };

  async function signIn(): Promise<void> {
    if (signs_in === "login" && !isNextcloud) requireOk(await login());
    if (describes_device && !isKnown) requireOk(await describe());
    isKnown = true;
  }
  const login = () => send("POST", paths.login, { headers: basic });
  const describe = () => request("POST", paths.device, { caption: device, type: "mobile" });

  async function request(method: string, path: string, body?: unknown, headers = {}): Promise<Answer> {
    const withBasic = { body, headers: { ...basic, ...headers } };
    const isFirst = cookies.header() === null;
    if (signs_in === "either" && !isNextcloud) return requestAsAsked(method, path, withBasic);
    if (signs_in === "basic" || isNextcloud) return send(method, path, withBasic);
    const isChallenged = signs_in === "challenge" && isFirst;
    const answer = await send(method, path, { body, headers });
    return isChallenged && answer.status === 401 ? send(method, path, withBasic) : answer;
  }

  /** Does before a request what the server wants: some take no password but in a login, some no unknown device. */
  async function requestAsAsked(method: string, path: string, sent: Sent): Promise<Answer> {
    const answer = await send(method, path, sent);
    // A cookie says nothing of it: some servers begin a session with any response.
    if (answer.status === 401 && !hasLoggedIn) {
      hasLoggedIn = true;
      await login();
      return requestAsAsked(method, path, sent);
    }
    if (!path.startsWith(paths.read) || isKnown) return answer;
    isKnown = true;
    const isRefused = answer.status === 400 || answer.status === 404;
    return isRefused && (await describe()).status < 300 ? send(method, path, sent) : answer;
  }

  return { signIn, login, request };
}

export type SyncClient = ReturnType<typeof syncClient>;

/** @param device used by the gPodder API only */
export function syncClient(prober: Prober, identity: Identity, device: string, owner: Owner = "first") {
  const { protocol } = identity;
  const { user, password } = credentialsOf(prober, owner);
  const isNextcloud = protocol === "nextcloud";
  const paths = pathsOf(protocol, user, device);
  const basic = { Authorization: `Basic ${Buffer.from(`${user}:${password}`).toString("base64")}` };
  const { signIn, login, request } = signerFor(prober, identity, { paths, device, basic });
  const added = new Set<string>();

  const get = async <T>(path: string, schema: z.ZodType<T>) => {
    return requireSuccess(await request("GET", path)).json(schema);
  };
  const isOurs = (action: unknown) => prober.isOurs(Named.safeParse(action).data?.podcast ?? "");
  const OwnActions = Listed.transform((body) => ({ ...body, actions: body.actions.filter(isOurs) })).pipe(Actions);
  const readFeeds = (since: number) => get(`${paths.read}?since=${since}`, Changes);
  /** What the gPodder API tells another device, read by this one; null if it is refused. */
  const readFeedsOf = async (id: string, since: number) => {
    const answer = await request("GET", `${pathsOf(protocol, user, encodeURIComponent(id)).read}?since=${since}`);
    return answer.status < 300 ? answer.json(Changes) : null;
  };

  /** Uploads changes of the list, which are undone at the end of the check. */
  async function postFeeds(add: string[], remove: string[], headers = {}): Promise<Answer> {
    for (const feed of add) added.add(feed);
    if (add.length > 0) prober.atEnd(added, () => request("POST", paths.upload, { add: [], remove: [...added] }));
    return request("POST", paths.upload, { add, remove }, headers);
  }
  const postActions = (actions: object[]) =>
    request(
      "POST",
      paths.uploadActions,
      actions.map((one) => ({ ...(!isNextcloud && { device }), ...one })),
    );

  function timestampOf(answer: Answer): number | null {
    requireSuccess(answer);
    if (!isNextcloud) return answer.json(Uploaded).timestamp;
    return Uploaded.safeParse(parseJson(answer.text)).data?.timestamp ?? null;
  }

  return {
    signIn,
    login,
    request,
    /** Changes since a timestamp in seconds. */
    readFeeds,
    readFeedsOf,
    /** The ids of the account's devices. */
    listDevices: async () => (await get(paths.devices, z.array(z.looseObject({ id: z.string() })))).map(({ id }) => id),
    /** The feeds of this check that the device is to add. */
    added: async (since = 0) => (await readFeeds(since)).add.filter(prober.isOurs),
    /** A request with Basic and no cookie. */
    readWithBasic: () => prober.request("GET", `${paths.read}?since=0`, { headers: basic }),
    postFeeds,
    /** @returns the timestamp of the response in seconds; null if the app of this protocol reads none */
    sendFeeds: async (...changes: Parameters<typeof postFeeds>) => timestampOf(await postFeeds(...changes)),
    /** The actions of this check alone: what others left there stays. @param query more of it, with its `&` */
    readActions: (since: number | null, query = "") =>
      get(`${paths.readActions}?${since === null ? "" : `since=${since}`}${query}`, OwnActions),
    postActions,
    sendActions: async (actions: object[]) => timestampOf(await postActions(actions)),
    paths,
    device,
    protocol,
  };
}

/** AntennaPod takes nothing but 200. @returns the answer */
export function requireOk(answer: Answer): Answer {
  if (answer.status !== 200) throw new Failure(`Expected status 200, got ${answer.status}`);
  return answer;
}

/** A time as apps write it: UTC in whole seconds, without a zone. @param milliseconds Unix time */
export const writeTime = (milliseconds: number) => new Date(milliseconds).toISOString().slice(0, 19);

export const ZONE = /(Z|[+-]\d\d:?\d\d)$/;
/** When an action was made, in Unix milliseconds; times without a zone are UTC. */
export const timeOf = ({ timestamp }: Pick<Action, "timestamp">) =>
  Date.parse(ZONE.test(timestamp) ? timestamp : `${timestamp}Z`);
