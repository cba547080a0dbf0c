// Apps of devices: how each signs in, and which routes it uses.
import type { EpisodeAction, PublishedAction } from "../../src/domain/episode-actions.ts";
import { type Kind, protocolOf } from "../domain/device-sync.ts";
import type { Answer } from "../support/app.ts";
import { basicAuth } from "../support/basic-auth.ts";

/** Sends a request to the server. */
export type Send = (
  method: string,
  path: string,
  options: { body?: string; headers: Record<string, string> },
) => Promise<Answer>;

const AGENTS: Record<Kind, string | null> = {
  antennapod: "AntennaPod/3.9.0",
  kasts: "Kasts/24.12",
  gpodder: "gPodder/3.11.1",
  // It sends no User-Agent.
  pinepods: null,
  nextcloud: "AntennaPod/3.9.0",
  script: "Script/1",
  rhythmbox: "Rhythmbox/3.5.0",
  desktop: "AntennaPod-Desktop/0.1.0",
};

const NEXTCLOUD = "/index.php/apps/gpoddersync";

/** The requests of one app on one device. */
export class DeviceApp {
  #cookie = "";
  /** Whether it syncs by Nextcloud's gPodder Sync: its token is all that names it. */
  readonly isNextcloud: boolean;

  /** @param secret a token, or the user's password */
  constructor(
    private readonly send: Send,
    private readonly user: string,
    private readonly secret: string,
    private readonly device: string,
    private readonly kind: Kind,
  ) {
    this.isNextcloud = protocolOf(device) === "nextcloud";
  }

  /** Begins a sync. */
  async begin(): Promise<void> {
    if (this.kind === "antennapod") await this.#logIn();
  }

  async readFeeds(since: number, method = "GET"): Promise<{ add: string[]; remove: string[]; timestamp: number }> {
    const path = this.isNextcloud ? `${NEXTCLOUD}/subscriptions` : this.#feeds();
    return (await this.#request(method, `${path}?since=${since}`)).body;
  }

  async sendFeeds(add: string[], remove: string[]): Promise<number> {
    const path = this.isNextcloud ? `${NEXTCLOUD}/subscription_change/create` : this.#feeds();
    return (await this.#request("POST", path, { add, remove })).body.timestamp;
  }

  async sendList(urls: string[]): Promise<void> {
    await this.#request("PUT", `/subscriptions/${this.user}/${this.device}.json`, urls);
  }

  async readActions(since: number): Promise<{ actions: PublishedAction[]; timestamp: number }> {
    const path = this.isNextcloud ? `${NEXTCLOUD}/episode_action` : this.#episodes();
    const aggregated = this.kind === "kasts" ? `&aggregated=${since === 0}` : "";
    return (await this.#request("GET", `${path}?since=${since}${aggregated}`)).body;
  }

  async sendActions(actions: EpisodeAction[]): Promise<number> {
    const path = this.isNextcloud ? `${NEXTCLOUD}/episode_action/create` : this.#episodes();
    return (
      await this.#request(
        "POST",
        path,
        actions.map((one) => this.#write(one)),
      )
    ).body.timestamp;
  }

  #write({ feed_url, episode_url, guid, kind, sent_at, started, position, total }: EpisodeAction) {
    const time = new Date(sent_at).toISOString();
    return {
      podcast: feed_url,
      episode: episode_url,
      ...(guid !== null && { guid }),
      device: this.device,
      action: this.kind === "nextcloud" ? kind.toUpperCase() : kind,
      timestamp: this.kind === "pinepods" ? time.replace("Z", "000+00:00") : time.slice(0, 19),
      started,
      position,
      total,
    };
  }

  #feeds = () => `/api/2/subscriptions/${this.user}/${this.device}.json`;
  // Kasts, gPodder and mygpoclient name no device here; a cookie may.
  #episodes = () => `/api/2/episodes/${this.user}.json`;

  #basic = () => basicAuth(this.user, this.secret);

  async #logIn(): Promise<void> {
    await this.#once("POST", `/api/2/auth/${this.user}/login.json`, this.#basic(), "");
  }

  /** Kasts and Nextcloud apps send Basic with each request, gPodder after a 401, others have a cookie from the login. */
  async #request(method: string, path: string, body?: unknown): Promise<Answer> {
    const text = body === undefined ? undefined : JSON.stringify(body);
    if (this.isNextcloud || this.kind === "kasts") return this.#once(method, path, this.#basic(), text);
    if (this.kind === "pinepods") await this.#logIn();
    const hasSession = this.#cookie !== "";
    const refused = await this.#try(method, path, {}, text);
    if (hasSession && refused.status === 200) return refused;
    if (refused.status !== 401) throw new Error(`${method} ${path} without credentials: ${refused.status}`);
    this.#cookie = "";
    return this.#once(method, path, this.#basic(), text);
  }

  async #once(method: string, path: string, headers: Record<string, string>, body?: string): Promise<Answer> {
    const answer = await this.#try(method, path, headers, body);
    if (answer.status !== 200) throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
    return answer;
  }

  async #try(method: string, path: string, given: Record<string, string>, body?: string): Promise<Answer> {
    const agent = AGENTS[this.kind];
    const headers = {
      ...given,
      ...(agent !== null && { "User-Agent": agent }),
      ...(this.#cookie !== "" && { Cookie: this.#cookie }),
    };
    const answer = await this.send(method, path, { headers, ...(body !== undefined && { body }) });
    this.#cookie = answer.headers.getSetCookie()[0]?.split(";")[0] ?? this.#cookie;
    return answer;
  }
}
