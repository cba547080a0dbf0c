-- Distributes podkeep's tables over a Citus cluster. Run it on the coordinator after `podkeep migrate`, while they are empty.

-- Tables with foreign keys can't be distributed; the keys within one user's rows are added again below.
alter table tokens drop constraint tokens_user_id_fkey;
alter table subscriptions drop constraint subscriptions_user_id_fkey;
alter table guids drop constraint guids_user;
alter table feeds drop constraint feeds_user;
alter table deletions drop constraint deletions_user_id_fkey;
alter table devices drop constraint devices_user_id_fkey;
alter table login_flows drop constraint login_flows_user_id_fkey;
alter table page_sessions drop constraint page_sessions_user_id_fkey;
alter table connect_links drop constraint connect_links_user_id_fkey;
alter table clients drop constraint clients_user_id_fkey;
alter table cursors drop constraint cursors_client;
alter table holdings drop constraint holdings_client;
alter table spellings drop constraint spellings_user;
alter table refusals drop constraint refusals_user;
alter table sync_entities drop constraint sync_entities_user;
alter table sync_actions drop constraint sync_actions_user;
alter table login_tokens drop constraint login_tokens_user;

-- A unique key must contain the distribution column. Only `podkeep user create` then refuses a name that exists.
alter table users drop constraint users_name_key;
create index users_by_name on users (name);
drop index users_by_name_key;
create index users_by_name_key on users (name_key);
alter table users drop constraint users_public_id_key;
create index users_by_public_id on users (public_id);
alter table tokens drop constraint tokens_pkey;
create index tokens_by_id on tokens (id);

-- All rows of a user are on one node.
select create_distributed_table('users', 'id');
select create_distributed_table('subscriptions', 'user_id', colocate_with => 'users');
select create_distributed_table('guids', 'user_id', colocate_with => 'users');
select create_distributed_table('feeds', 'user_id', colocate_with => 'users');
select create_distributed_table('deletions', 'user_id', colocate_with => 'users');
select create_distributed_table('history', 'user_id', colocate_with => 'users');
select create_distributed_table('devices', 'user_id', colocate_with => 'users');
select create_distributed_table('page_sessions', 'user_id', colocate_with => 'users');
select create_distributed_table('clients', 'user_id', colocate_with => 'users');
select create_distributed_table('cursors', 'user_id', colocate_with => 'users');
select create_distributed_table('holdings', 'user_id', colocate_with => 'users');
select create_distributed_table('spellings', 'user_id', colocate_with => 'users');
select create_distributed_table('refusals', 'user_id', colocate_with => 'users');
select create_distributed_table('sync_entities', 'user_id', colocate_with => 'users');
select create_distributed_table('sync_actions', 'user_id', colocate_with => 'users');
select create_distributed_table('episodes', 'user_id', colocate_with => 'users');
select create_distributed_table('plays', 'user_id', colocate_with => 'users');
select create_distributed_table('episode_actions', 'user_id', colocate_with => 'users');
select create_distributed_table('episode_moves', 'user_id', colocate_with => 'users');

-- A token is looked up by its hash, before its user is known.
select create_distributed_table('tokens', 'hash', colocate_with => 'none');
-- Login flows, links and logins of the draft are few: login_flows, connect_links and login_tokens stay on the coordinator.
-- So do feed_lookups, feed_followers and feed_walks, whose keys begin with the feed or which few processes read.

alter table subscriptions add foreign key (user_id) references users (id) on delete cascade;
alter table guids add constraint guids_user
  foreign key (user_id) references users (id) on delete cascade;
alter table feeds add constraint feeds_user
  foreign key (user_id) references users (id) on delete cascade;
alter table deletions add foreign key (user_id) references users (id) on delete cascade;
alter table devices add foreign key (user_id) references users (id) on delete cascade;
alter table page_sessions add foreign key (user_id) references users (id) on delete cascade;
alter table clients add foreign key (user_id) references users (id) on delete cascade;
alter table cursors add constraint cursors_client
  foreign key (user_id, client) references clients (user_id, id) on delete cascade;
alter table holdings add constraint holdings_client
  foreign key (user_id, client) references clients (user_id, id) on delete cascade;
alter table spellings add constraint spellings_user
  foreign key (user_id) references users (id) on delete cascade;
alter table refusals add constraint refusals_user
  foreign key (user_id) references users (id) on delete cascade;
alter table sync_entities add constraint sync_entities_user
  foreign key (user_id) references users (id) on delete cascade;
alter table sync_actions add constraint sync_actions_user
  foreign key (user_id) references users (id) on delete cascade;
