// Routes of listening: what is begun, history, one episode, hours of a year, files of all plays.
/** @jsxImportSource hono/jsx */
import type { Context, Hono } from "hono";
import { getCookie } from "hono/cookie";
import { z } from "zod";
import type { App } from "../../app.ts";
import { BYTE_ORDER_MARK, writeCsv, writeJson } from "../../domain/play-files.ts";
import { clockOf } from "../../domain/play-time.ts";
import { Calendar } from "../../domain/zoned-days.ts";
import { DomainError } from "../../errors.ts";
import { listBegun, readEpisode } from "../../services/listening/listening.ts";
import { readYear, sumPlays } from "../../services/listening/listening-hours.ts";
import {
  listEpisodePlays,
  listPlayers,
  listPlays,
  type PlayPosition,
  streamWritten,
} from "../../services/listening/play-list.ts";
import { setPosition } from "../../services/listening/positions.ts";
import { findPodcastName } from "../../services/subscriptions/podcasts.ts";
import type { HttpEnv } from "../env.ts";
import { download } from "../response-body.ts";
import { readForm, readSearch } from "./form.ts";
import { ContinuePage, PlayHistoryPage } from "./pages/listening.tsx";
import { EpisodePage } from "./pages/listening-episode.tsx";
import { YearPage } from "./pages/listening-year.tsx";
import { show } from "./render.tsx";
import { texts } from "./texts.ts";

const BEGUN_SHOWN = 50;
/** Plays on one page. */
const PER_PAGE = 100;

const PositionForm = {
  position: z
    .string()
    .regex(/^\d{1,9}$/)
    .transform(Number),
};

export function serveListening(http: Hono<HttpEnv>, app: App): void {
  http.get("/listening", async (c) =>
    show(c, <ContinuePage episodes={await listBegun(app, c.get("actor"), BEGUN_SHOWN + 1)} most={BEGUN_SHOWN} />),
  );
  http.get("/listening/history", (c) => showHistory(c, app));
  http.get("/listening/episodes/:id", (c) => showEpisode(c, app));
  http.get("/listening/year", (c) => showYear(c, app));

  http.post("/listening/episodes/:id/position", async (c) => {
    const { position } = await readForm(c, PositionForm);
    await setPosition(app, c.get("actor"), { episode: idOf(c), position });
    return c.redirect(`/listening/episodes/${idOf(c)}?done=position`, 303);
  });

  http.post("/listening/episodes/:id/finished", async (c) => {
    await setPosition(app, c.get("actor"), { episode: idOf(c), position: null });
    return c.redirect(`/listening/episodes/${idOf(c)}?done=finished`, 303);
  });

  http.get("/listening/plays.csv", (c) => {
    const parts = writeCsv(streamWritten(app, c.get("actor")), BYTE_ORDER_MARK);
    return download(c, parts, "plays.csv", "text/csv; charset=utf-8; header=present");
  });
  http.get("/listening/plays.json", (c) =>
    download(c, writeJson(streamWritten(app, c.get("actor"))), "plays.json", "application/json"),
  );
}

async function showHistory(c: Context<HttpEnv>, app: App): Promise<Response> {
  const actor = c.get("actor");
  const podcast = readId(c.req.query("podcast"));
  const by = c.req.query("by") ?? "";
  const search = readSearch(c);
  const after = readPosition(c.req.query("after"));
  const { plays, next } = await listPlays(app, actor, { after, podcast, by, search, limit: PER_PAGE });
  const { calendar, zone } = calendarOf(c);
  const days = [...Map.groupBy(plays, ({ begun_at }) => calendar.dayOf(begun_at))].map(([day, plays]) => {
    return { day, plays, span: calendar.spanOf(day) };
  });
  const isFiltered = podcast !== undefined || by !== "" || search !== "";
  const spans = isFiltered ? [] : days.map(({ span }) => span);
  const seconds = await sumPlays(app, actor, spans);
  const name = podcast === undefined ? null : await findPodcastName(app, actor, podcast);
  return show(
    c,
    <PlayHistoryPage
      days={days.map(({ day, plays, span }) => ({ day, plays, seconds: seconds.get(span.from) }))}
      filters={{ podcast, by, search }}
      podcastName={name}
      players={await listPlayers(app, actor)}
      next={next && writePosition(next)}
      after={after}
      searchedTo={next && plays.length < PER_PAGE ? next.begun_at : null}
      zone={zone}
    />,
  );
}

async function showEpisode(c: Context<HttpEnv>, app: App): Promise<Response> {
  const actor = c.get("actor");
  const episode = await readEpisode(app, actor, idOf(c));
  const after = readPosition(c.req.query("after"));
  const { plays, next } = await listEpisodePlays(app, actor, { episode: episode.episode, after, limit: PER_PAGE });
  return show(
    c,
    <EpisodePage
      episode={episode}
      plays={plays}
      next={next && writePosition(next)}
      after={after}
      notice={noticeOf(c.req.query("done"), episode.position)}
    />,
  );
}

async function showYear(c: Context<HttpEnv>, app: App): Promise<Response> {
  const { calendar, zone } = calendarOf(c);
  const present = calendar.yearOf(app.clock.now());
  const asked = /^\d{1,4}$/.exec(c.req.query("year") ?? "")?.[0];
  const year = Math.max(1, asked === undefined ? present : Math.min(Number(asked), 9998));
  const hours = await readYear(app, c.get("actor"), calendar.monthsOf(year));
  const first = hours.first_at === null ? present : calendar.yearOf(hours.first_at);
  return show(c, <YearPage year={year} hours={hours} first={first} last={present} zone={zone} />);
}

function noticeOf(done: string | undefined, position: number | null): string | null {
  if (done === "finished") return texts.listening.finishedDone;
  return done === "position" && position !== null ? texts.listening.setDone(clockOf(position)) : null;
}

/** The calendar of the zone that the script has put into a cookie; of UTC, and no zone, if there is none. */
function calendarOf(c: Context<HttpEnv>) {
  const sent = getCookie(c, "zone");
  const calendar = Calendar.of(sent);
  return { calendar, zone: calendar.zone === sent ? sent : null };
}

/** The id in the path. @throws DomainError "not_found" */
function idOf(c: Context<HttpEnv>): number {
  const id = readId(c.req.param("id"));
  if (id === undefined) throw new DomainError("not_found", "No such episode");
  return id;
}

function readId(text: string | undefined): number | undefined {
  return text !== undefined && /^-?[1-9]\d{0,14}$/.test(text) ? Number(text) : undefined;
}

/** As the link to the next page has it. */
const writePosition = ({ begun_at, id }: PlayPosition) => `${begun_at}.${id}`;

function readPosition(text: string | undefined): PlayPosition | undefined {
  const [, begun_at, id] = /^(-?\d{1,15})\.(\d{1,15})$/.exec(text ?? "") ?? [];
  return begun_at && id ? { begun_at: Number(begun_at), id: Number(id) } : undefined;
}
