// One episode: its plays, and setting its position.
/** @jsxImportSource hono/jsx */
import { clockOf } from "../../../domain/play-time.ts";
import { type EpisodePlace, episodeName, isAtEnd, lengthOf } from "../../../services/listening/listening.ts";
import type { PlayEntry, PlayPosition } from "../../../services/listening/play-list.ts";
import { nameOf } from "../../../services/subscriptions/podcasts.ts";
import { useFrame } from "../frame.ts";
import { ActionButton, ActorName, Layout, LinkLine, Notice, Time } from "../layout.tsx";
import { texts } from "../texts.ts";
import { clockIfAny, historyPath, ListeningStyle, Progress, Stretch } from "./listening.tsx";

const text = texts.listening;

interface EpisodeProps {
  episode: EpisodePlace;
  plays: PlayEntry[];
  /** Where the next page starts; null at the end. */
  next: string | null;
  /** After which play this page starts. */
  after: PlayPosition | undefined;
  notice: string | null;
}

export function EpisodePage({ episode, plays, next, after, notice }: EpisodeProps) {
  const { canWrite } = useFrame();
  const { episode: id, podcast, position, total } = episode;
  const length = lengthOf(episode);
  const path = `/listening/episodes/${id}`;
  return (
    <Layout title={episodeName(episode)} which={[after && texts.before(after.begun_at)]} section="listening">
      <ListeningStyle />
      <h1>
        <bdi>{episodeName(episode)}</bdi>
      </h1>
      <p>
        <a href={historyPath({ podcast })}>
          <bdi>{nameOf(episode)}</bdi>
        </a>
        {episode.published_at !== null && (
          <span class="muted">
            {" "}
            · <Time ms={episode.published_at} format="day" />
          </span>
        )}
      </p>
      <Notice>{notice}</Notice>
      <p>
        {text.at(clockIfAny(position), clockIfAny(length))}
        {isAtEnd(episode) && ` ${text.finished}`}
      </p>
      <Progress of={episode} />
      {canWrite && length !== null && (position === null || position !== total) && (
        <ActionButton action={`${path}/finished`}>{text.markFinished}</ActionButton>
      )}
      {canWrite && length === null && <p class="muted">{text.noLength}</p>}
      <ul class="rows">
        {plays.map((play) => (
          <li>
            <div class="grow">
              <Stretch play={play} />
              <div class="muted small">
                <ActorName by={play.by} /> · <Time ms={play.begun_at} format="clock" />
              </div>
            </div>
            {canWrite && play.position !== null && play.position > 0 && play.position !== position && (
              <ActionButton
                action={`${path}/position`}
                position={Math.min(play.position, total ?? play.position)}
                label={text.continueAt(clockOf(play.position))}
              >
                {text.continueHere}
              </ActionButton>
            )}
          </li>
        ))}
      </ul>
      {next && <LinkLine href={`${path}?${new URLSearchParams({ after: next })}`}>{text.older}</LinkLine>}
    </Layout>
  );
}
