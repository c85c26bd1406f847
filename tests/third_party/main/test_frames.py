"""Data frames re-ranked: as `diversify` ranks, whatever the frame looks like."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from srd_agents import diversify, make_ranker
from srd_agents.pipeline.frames import FrameRanker
from srd_agents.pipeline.naming import Namer

GENERATOR = np.random.default_rng(0)
VECTORS = {f"d{i}": GENERATOR.normal(size=4) for i in range(12)}
QUERIES = {"jaguar": GENERATOR.normal(size=4), "java": GENERATOR.normal(size=4)}


def frame(**columns: Any) -> pd.DataFrame:
    """Two queries of 7 and 5 documents, three of them retrieved by both, rows mixed."""
    rows = [("q2", "java", f"d{i}", 10.0 - i) for i in range(7)]
    rows += [("q1", "jaguar", f"d{i}", 20.0 - i) for i in range(4, 9)]
    made = pd.DataFrame(rows, columns=["qid", "query", "docno", "score"])
    made["rank"] = made.groupby("qid").cumcount()
    made["title"] = made["docno"] + " of " + made["qid"]
    made["doc_vec"] = [VECTORS[docno] for docno in made["docno"]]
    made["query_vec"] = [QUERIES[text] for text in made["query"]]
    mixed = made.iloc[[0, 8, 1, 11, 2, 3, 10, 4, 5, 7, 6, 9]].assign(**columns)
    return mixed.set_index(np.arange(100, 112))


COLUMNS = ("groups", "costs", "already_shown", "subtopics")


def expected(
    given: pd.DataFrame, qid: str, k: int, ranker: str | None = "mmr", scored: bool = True, **options: Any
) -> list[str]:
    """Docnos of a query as `diversify` ranks them; options may be functions of the query's rows."""
    rows = given[given["qid"] == qid]
    scores = rows["score"].to_numpy() if scored else None
    documents = np.stack(rows["doc_vec"].tolist())
    options = {name: value(rows) if name in COLUMNS else value for name, value in options.items()}
    indices = diversify(rows["query_vec"].iloc[0], documents, k, ranker, scores=scores, **options).indices
    return rows["docno"].iloc[indices].tolist()


@pytest.mark.parametrize("ranker", ["mmr", None])
@pytest.mark.parametrize("k", [1, 5, 6, 20])
def test_each_query_is_ranked_as_diversify_ranks_it(k: int, ranker: str | None) -> None:
    given = frame()
    found = FrameRanker(ranker, k=k).transform(given)
    assert found["qid"].tolist() == ["q2"] * min(k, 7) + ["q1"] * min(k, 5)  # the order in which the queries came
    for qid, rows in found.groupby("qid"):
        assert rows["docno"].tolist() == expected(given, str(qid), k, ranker=ranker)
        assert rows["rank"].tolist() == list(range(len(rows)))
        np.testing.assert_allclose(rows["score"], 1 / (rows["rank"] + 1), rtol=0, atol=0)
    assert list(found.columns) == list(given.columns)
    assert found.index.tolist() == list(range(len(found)))
    assert (found["title"] == found["docno"] + " of " + found["qid"]).all()


def test_rows_above_the_cap_fill_up_and_are_marked() -> None:
    given = frame().assign(site="one")
    found = FrameRanker("mmr", 4, groups="site", max_per_group=3, fill=True).transform(given)
    assert found["filled"].tolist() == [False, False, False, True] * given["qid"].nunique()
    pd.testing.assert_frame_equal(found.drop(columns="filled"), FrameRanker("mmr", 4).transform(given))


def test_without_k_all_are_kept_and_the_given_frame_is_left_as_it_is() -> None:
    given = frame()
    found = FrameRanker("mmr")(given)
    pd.testing.assert_frame_equal(found, FrameRanker("mmr", k=7).transform(given))
    assert len(found) == len(given)
    pd.testing.assert_frame_equal(given, frame())


@pytest.mark.parametrize("given", [frame().iloc[:0], frame().iloc[:0].drop(columns="doc_vec"), pd.DataFrame()])
def test_a_frame_without_rows_stays_without(given: pd.DataFrame) -> None:
    found = FrameRanker(k=3, subtopics=lambda query: 1 / 0, embed=len, groups="site", max_per_group=1)(given)
    assert len(found) == 0
    assert set(found.columns) == {*given.columns, "score", "rank"}
    assert (found["score"].dtype, found["rank"].dtype) == (np.float64, np.int64)


def test_without_scores_it_is_the_cosine_with_the_query() -> None:
    given = frame()
    found = FrameRanker("mmr", k=4).transform(given.drop(columns=["score", "rank"]))
    assert found[found["qid"] == "q1"]["docno"].tolist() == expected(given, "q1", 4, scored=False)
    assert list(found.columns)[-2:] == ["score", "rank"]


def test_other_columns_and_rankers() -> None:
    given = frame().rename(columns={"doc_vec": "embedding"})
    ranker = make_ranker("mmr", lambda_=1.0)
    found = FrameRanker(ranker, k=3, doc_vectors="embedding", query_vectors=None).transform(given)
    assert found["docno"].tolist() == ["d0", "d1", "d2", "d4", "d5", "d6"]  # only relevance: as retrieved


def test_ids_of_any_text_type() -> None:
    given = frame()
    wanted = FrameRanker("mmr", k=3).transform(given)["docno"].tolist()
    for kind in ("category", "string"):
        found = FrameRanker("mmr", k=3).transform(given.astype({"qid": kind, "docno": kind}))
        assert found["docno"].tolist() == wanted
    one = given.astype({"qid": "category"})
    assert len(FrameRanker("mmr", k=3).transform(one[one["qid"] == "q1"])) == 3


def changed(row: int, column: str, value: Any) -> pd.DataFrame:
    given = frame()
    values = given[column].tolist()
    values[row] = value
    return given.assign(**{column: pd.Series(values, index=given.index, dtype=object)})


def test_a_function_names_the_subtopics_of_each_query() -> None:
    given, seen = frame(), list[tuple[str, list[str]]]()

    def names(query: str, texts: list[str]) -> list[str]:
        seen.append((query, texts))
        return [f"{query} {sense}" for sense in SENSES[query]]

    def embed(texts: list[str]) -> list[list[float]]:
        return [SENSE_VECTORS[text.split()[-1]] for text in texts]

    found = FrameRanker(k=4, subtopics=names, embed=embed, doc_texts="title").transform(given)
    listed = FrameRanker(k=4, subtopics="senses", embed=embed)
    wanted = listed.transform(given.assign(senses=given["query"].map(SENSES)))
    pd.testing.assert_frame_equal(found, wanted.drop(columns="senses"))
    assert seen[1] == ("jaguar", given[given["qid"] == "q1"]["title"].tolist())
    for bad, message in ((changed(0, "query", None), "topic 'q2' has no query text"), (frame(), "needs the documents")):
        with pytest.raises(ValueError, match=message):
            FrameRanker(k=4, subtopics=names, embed=embed).transform(bad)
    with pytest.raises(ValueError, match="no column 'text'"):
        FrameRanker(k=4, subtopics=names, embed=embed, query_texts="text").transform(given)
    with pytest.raises(ValueError, match="subtopics are texts that a model names: give embed="):
        FrameRanker(k=4, subtopics=Namer(lambda prompt: "[]"))


def test_scores_of_subtopics_are_a_column_of_documents_and_may_be_missing() -> None:
    ratings: list[Any] = [[float(i % 3), float(i % 5)] for i in range(12)]
    ratings[2] = None
    given = frame().assign(ratings=pd.Series(ratings, index=frame().index, dtype=object))
    found = FrameRanker("pm2", k=5, subtopic_scores="ratings").transform(given)
    for qid, rows in found.groupby("qid"):
        table = [[np.nan] * 2 if row is None else row for row in given[given["qid"] == qid]["ratings"]]
        assert rows["docno"].tolist() == expected(
            given, str(qid), 5, "pm2", subtopic_scores=table, near_duplicates=0.9999
        )
    none = frame().assign(ratings=pd.Series([None] * 12, index=frame().index, dtype=object))
    found = FrameRanker(k=5, subtopic_scores="ratings").transform(none)
    pd.testing.assert_frame_equal(found.drop(columns="ratings"), FrameRanker(k=5).transform(frame()))


@pytest.mark.parametrize(("given", "options", "error", "message"), [
    (frame().drop(columns="doc_vec"), {}, ValueError, "no column 'doc_vec', got 'qid', .*doc_vectors= and"),
    (frame().drop(columns=["qid", "docno"]), {}, ValueError, "no column 'qid' and no column 'docno'"),
    (frame().drop(columns="query_vec"), {}, ValueError, r"no column 'query_vec'.*query_vectors=None"),
    (changed(3, "docno", 7), {}, TypeError, r"column 'docno' must hold text, got 7 \(int\); frame.astype"),
    (changed(3, "qid", None), {}, TypeError, "column 'qid' must hold text, got None"),
    (changed(2, "docno", "d0"), {"strict": True}, ValueError, "topic 'q2': doc_ids holds 'd0' twice"),
    (changed(0, "score", float("nan")), {"strict": True}, ValueError, "topic 'q2': scores holds NaN or infinity"),
    (changed(1, "doc_vec", [1.0]), {}, ValueError, "rows of one length, got 1 .* and 4"),
    (changed(1, "doc_vec", None).drop(columns="score"), {}, ValueError, "topic 'q1': document . has no vector; give"),
    (changed(1, "query_vec", None), {"k": 2}, None, ""),  # q1 goes by its scores
    (changed(1, "query_vec", pd.NA), {"k": 2}, None, ""),
    (frame().assign(qids=frame()["qid"]).set_index("qids").rename_axis("qid"), {"k": 2}, None, ""),
    (frame().assign(seen=pd.Series([True, pd.NA, *[False] * 10], range(100, 112), "boolean")),
     {"already_shown": "seen", "strict": True}, TypeError, "must hold True or False, got None"),
    (frame().assign(ratings=1), {"ranker": "pm2", "subtopic_scores": "ratings"}, TypeError,
     "column 'ratings' must hold lists of numbers, one a subtopic, got 1$"),
    (frame()["score"], {}, TypeError, r"\(Series\); polars and pyarrow have to_pandas"),
    (changed(0, "score", 1.0).assign(seen="False"), {"already_shown": "seen"}, TypeError,
     r"column 'seen' must hold True or False, got 'False' \(str\)"),
    (["d1"], {}, TypeError, r"^expected a pandas DataFrame, a row a document, got \['d1'\] \(list\)"),
    (changed(0, "query_vec", [1.0]), {}, ValueError, r"topic 'q2': query_vector has shape \(1,\), expected \(4,\)"),
])  # fmt: skip
def test_bad_frames_are_named(given: pd.DataFrame, options: Any, error: Any, message: str) -> None:
    ranker = FrameRanker(**{"ranker": "mmr"} | options)
    if error is None:
        assert len(ranker.transform(given)) == 4
        return
    with pytest.raises(error, match=message):
        ranker.transform(given)


SENSES = {"jaguar": ["cat", "car"], "java": ["island"]}
SENSE_VECTORS = {"cat": [1.0, 0, 0, 0], "car": [0, 1.0, 0, 0], "island": [0, 0, 1.0, 0]}


def embed(texts: list[str]) -> list[list[float]]:
    return [SENSE_VECTORS[text.rpartition(": ")[2]] for text in texts]


def with_senses(given: pd.DataFrame, qid: str, **weights: Any) -> list[str]:
    return expected(given, qid, 4, None, subtopics=lambda rows: SENSES[rows["query"].iloc[0]], embed=embed, **weights)


def test_subtopics_come_from_a_column() -> None:
    given = frame()
    texts = given.assign(senses=given["query"].map(SENSES))
    vectors = given.assign(senses=[np.array(embed(SENSES[query])) for query in given["query"]])
    weighed = texts.assign(weights=[[5.0, 1.0] if query == "jaguar" else [1.0] for query in texts["query"]])
    for given_frame, ranker, weights in (
        (texts, FrameRanker(k=4, subtopics="senses", embed=embed), None),
        (vectors, FrameRanker(k=4, subtopics="senses"), None),
        (weighed, FrameRanker(k=4, subtopics="senses", subtopic_weights="weights", embed=embed), [5.0, 1.0]),
    ):
        found = ranker.transform(given_frame)
        assert found[found["qid"] == "q2"]["docno"].tolist() == with_senses(given, "q2")
        jaguar = found[found["qid"] == "q1"]["docno"].tolist()
        assert jaguar == with_senses(given, "q1", **({"subtopic_weights": weights} if weights else {}))
    asked: list[str] = []
    FrameRanker(k=4, subtopics="senses", embed=lambda names: [asked.append(each) for each in names] and embed(names))(
        texts
    )
    assert set(asked) == {"jaguar: cat", "jaguar: car", "java: island"}
    empty = FrameRanker(k=4, subtopics="senses", embed=embed).transform(texts.iloc[:0])
    assert empty.empty
    assert list(empty.columns) == list(texts.columns)


def test_subtopics_in_a_column_may_weigh() -> None:
    senses = {"cat": np.eye(4)[0], "car": np.eye(4)[1]}
    given = frame(named=[{"cat": 9, "car": 1}] * 12, texts=[["cat", "car"]] * 12, weights=[[9, 1]] * 12)

    def embed(texts: list[str]) -> list[Any]:
        return [senses[text.rpartition(": ")[2]] for text in texts]

    beside = FrameRanker("pm2", 4, subtopics="texts", subtopic_weights="weights", embed=embed).transform(given)
    pd.testing.assert_frame_equal(FrameRanker("pm2", 4, subtopics="named", embed=embed).transform(given), beside)


def test_a_column_holds_vectors_for_diversify_too() -> None:
    rows = frame().iloc[:7]
    wanted = diversify(None, np.stack(rows["doc_vec"].tolist()), 5).indices
    for column in (rows["doc_vec"], rows["doc_vec"].map(list), rows["doc_vec"].to_numpy()):
        np.testing.assert_array_equal(diversify(None, column, 5).indices, wanted)


def test_some_queries_have_no_subtopics() -> None:
    given = frame().assign(senses=lambda rows: rows["query"].map({"java": ["island"]}))  # NaN for the other
    found = FrameRanker(k=4, subtopics="senses", embed=embed).transform(given)
    assert found[found["qid"] == "q2"]["docno"].tolist() == with_senses(given, "q2")
    assert found[found["qid"] == "q1"]["docno"].tolist() == expected(given, "q1", 4, ranker=None)


@pytest.mark.parametrize(("options", "error", "message"), [
    ({"groups": "group", "max_per_group": 1}, ValueError, "the frame has no column 'group'"),
    ({"subtopics": "senses"}, ValueError, "the frame has no column 'senses'"),
    ({"subtopics": "names"}, ValueError, r"subtopics are texts \('island', ...\): give embed="),
])  # fmt: skip
def test_bad_options_are_named(options: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        FrameRanker(**options)(frame(names=[["island"]] * 12))


def test_several_columns_are_groups_of_several_kinds_and_one_is_of_pinned_places() -> None:
    given = frame(site=list("aab" * 4), brand=list("xy" * 6), place=[None] * 12)
    given.loc[given["docno"] == "d8", "place"] = 1
    limits: dict[str, Any] = {"max_per_group": {"site": 2, "brand": {"x": 2}}, "min_per_group": {"site": {"b": 1}}}
    found = FrameRanker(k=4, groups=["site", "brand"], pinned="place", **limits).transform(given)
    rows = given[given["qid"] == "q1"]
    both = {name: rows[name].tolist() for name in ("site", "brand")}
    pinned = [None, rows["docno"].tolist().index("d8")]
    wanted = diversify(None, rows["doc_vec"], 4, scores=rows["score"], groups=both, pinned=pinned, **limits)
    assert found[found["qid"] == "q1"]["docno"].tolist() == rows["docno"].iloc[wanted.indices].tolist()
    assert found[found["qid"] == "q1"]["docno"].tolist()[1] == "d8"


def test_rows_of_one_document_are_one_in_similarities_and_groups_too() -> None:
    alike = np.array([[1, 0.9, 0.2], [0.9, 1, 0.1], [0.2, 0.1, 1]])
    rows = pd.DataFrame({"qid": ["q"] * 4, "docno": list("abac"), "score": [3.0, 2.0, 1.0, 1.0]})
    rows["alike"] = [alike[[0, 1, 0, 2]][:, i].tolist() for i in (0, 1, 0, 2)]
    rows["site"], rows["brand"] = [None, "s", "s", "t"], "x"
    found = FrameRanker(similarity="alike", diversity=0.5, k=2).transform(rows)
    assert found["docno"].tolist() == ["a", "c"]
    capped = FrameRanker(similarity="alike", groups=["site", "brand"], max_per_group={"site": 1}).transform(rows)
    assert capped["docno"].tolist() == ["a", "c"]
