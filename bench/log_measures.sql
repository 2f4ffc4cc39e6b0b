-- All measures of rankings and sessions, as plain SQL on the simulated log. {folder} is replaced by its path.
WITH queries AS (
    SELECT client_id AS u, query_id AS q, epoch_us(timestamp::TIMESTAMPTZ) AS t, lower(user_query) AS text,
        least(len(query_response_hit_ids), 5) AS shown
    FROM '{folder}/ubi_queries.parquet'
), events AS (
    SELECT client_id AS u, query_id AS q, epoch_us(timestamp::TIMESTAMPTZ) AS t, action_name = 'click' AS click,
        event_attributes.position.ordinal AS rank, event_attributes.dwell AS dwell
    FROM '{folder}/ubi_events.parquet'
), activity AS (
    SELECT u, t, q, 0 AS kind, false AS click, NULL AS dwell FROM queries
    UNION ALL
    SELECT u, t, q, 1, click, dwell FROM events
), gaps AS (
    SELECT *, CASE WHEN t - lag(t) OVER (PARTITION BY u ORDER BY t) <= 1800000000 THEN 0 ELSE 1 END AS begins
    FROM activity
), numbered AS (
    SELECT *, sum(begins) OVER (PARTITION BY u ORDER BY t) AS n FROM gaps
), sessions AS (
    SELECT u, n, max(t) - min(t) AS length, count(*) FILTER (kind = 0) AS queries, count(*) FILTER (click) AS clicks,
        count(*) AS actions, min(t) FILTER (click) - min(t) AS to_click, bool_or(click AND dwell >= 30) AS success
    FROM numbered GROUP BY u, n
), asked AS (
    SELECT u, q, n, t FROM numbered WHERE kind = 0
), clicks AS (
    SELECT u, q, count(*) AS clicks, count(*) FILTER (rank <= 5) AS within, sum(rank) AS ranks, min(t) AS first,
        max(t) AS last, arg_min(rank, (t, rank)) AS first_rank, arg_max(rank, (t, rank)) AS last_rank
    FROM events WHERE click GROUP BY u, q
), following AS (
    SELECT asked.u, asked.q, n, asked.t, text, shown,
        lead(text) OVER (PARTITION BY asked.u, n ORDER BY asked.t, asked.q) AS next,
        count(*) OVER (PARTITION BY asked.u, n) = 1 AS alone
    FROM asked JOIN queries USING (u, q)
), pages AS (
    SELECT *, str_split(text, ' ') AS a, str_split(next, ' ') AS b,
        CASE WHEN next IS NULL THEN NULL WHEN text = next THEN 1 ELSE
            len(list_intersect(a, b)) / len(list_distinct(list_concat(a, b))) END AS similarity
    FROM following LEFT JOIN clicks USING (u, q)
), query_sums AS (
    SELECT avg(first_rank) AS "click-rank", avg(last_rank) AS "last-click-rank",
        sum(ranks) / sum(clicks) AS "mean-click-rank", avg(coalesce(1 / first_rank, 0)) AS "click-RR",
        sum(within) / sum(shown) AS "CTR@5", avg(first - t) / 1e6 AS "time-to-first-click",
        avg(last - t) / 1e6 AS "time-to-last-click", sum(clicks) / count(*) AS "clicks-per-query",
        avg((clicks IS NULL)::INT) AS abandonment,
        avg((clicks IS NULL AND alone)::INT) AS "good-abandonment",
        avg(coalesce(similarity >= 0.3 AND similarity < 1, false)::INT) AS reformulation
    FROM pages
), session_sums AS (
    SELECT avg(queries) AS "queries-per-session", avg(clicks) AS "clicks-per-session",
        avg(actions) AS "session-actions", avg(length) / 1e6 AS "session-length",
        avg(to_click) / 1e6 AS "session-time-to-click", avg(coalesce(success, false)::INT) AS "session-success",
        count(*) / count(DISTINCT u) AS "sessions-per-user"
    FROM sessions
)
SELECT * FROM query_sums, session_sums
