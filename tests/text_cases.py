"""Which tests hold what hostile and odd text did in the field: by case. A test is named as `file::function`."""

from __future__ import annotations

_VERDICT = "tests/core/test_verdict.py"
_POLICY = "tests/core/test_policy.py"
_PROMPT = "tests/core/test_prompt.py"
_TEXT = "tests/nightly/test_odd_text.py"
_ANSWERS = "tests/nightly/test_odd_answers.py"
_ERRORS = "tests/model/test_verdicts_on_errors.py"
_TRANSPORT = "tests/model/test_transport.py"
_RETRIES = "tests/model/test_retries.py"
_DIALECT = "tests/model/test_dialect.py"

_WRAPPED = f"{_VERDICT}::test_one_label_is_found_however_it_is_wrapped"
_READ = f"{_ANSWERS}::test_one_answer_is_read_in_one_call_however_it_is_wrapped"
_FINAL = f"{_ANSWERS}::test_what_will_not_be_answered_costs_one_call_and_no_word"
_SECOND = f"{_ANSWERS}::test_a_useless_answer_costs_one_changed_second_call_and_three_tries_at_most"
_NOT_LABELS = f"{_ANSWERS}::test_names_that_are_no_labels_end_as_nothing_fits_and_are_not_asked_about_again"
_ATTACKS = "tests/injection/test_attacks.py::test_every_attack_ends_in_allowed_labels_on_its_issue_and_a_clean_comment"
_HARMFUL = "tests/injection/test_attacks.py::test_every_attack_does_harm_without_the_check_that_stops_it"
_NASTY = "tests/test_outgoing.py::test_nasty_words_are_shown_and_nothing_more"
_ANY_WORDS = "tests/test_outgoing.py::test_no_words_make_a_comment_that_does_anything"
_ODD = f"{_TEXT}::test_every_odd_text_gets_its_one_verdict_and_the_next_night_says_nothing"
_KEPT = f"{_TEXT}::test_what_is_kept_of_an_odd_text_can_be_stored_and_sent"
_NO_WORD = f"{_TEXT}::test_an_edit_that_changes_no_word_costs_no_call_and_no_write"
_CANONICAL = "tests/core/test_text.py::test_canonical_form"
_STORABLE = "tests/core/test_text.py::test_canonical_text_can_be_stored_and_encoded"
_BURIED = f"{_TEXT}::test_no_report_is_buried"
_HANG = f"{_ANSWERS}::test_a_server_that_never_ends_an_answer_cannot_hold_the_night"
_LADDER = f"{_ANSWERS}::test_what_a_server_does_not_take_is_learnt_once_a_night"
_FEW_REQUESTS = f"{_RETRIES}::test_a_server_that_always_fails_gets_exactly_as_many_requests_as_attempts"
_MEND = f"{_ERRORS}::test_what_no_question_can_get_past_ends_the_night_with_the_mend"
_NO_SUCH_MODEL = "tests/nightly/test_setups.py::test_a_model_endpoint_that_cannot_answer_any_issue"
_ONE_OBJECT = "tests/test_incoming.py::test_the_issue_is_one_json_object_and_all_that_a_stranger_wrote_is_in_it"
_ALWAYS_500 = (
    "tests/nightly/test_requests.py::test_a_model_that_always_answers_500_gets_exactly_the_configured_attempts"
)

CASES: dict[str, tuple[str, ...]] = {
    # --- model answers and model requests
    "M1": (_WRAPPED, _READ),
    "M2": (_WRAPPED, _READ, f"{_VERDICT}::test_nothing_is_repaired_that_was_cut_off"),
    "M4": (_WRAPPED, _READ, f"{_VERDICT}::test_another_shape_is_no_answer"),
    "M5": (
        _WRAPPED,
        _READ,
        f"{_VERDICT}::test_no_words_outside_reasoning_deserve_a_second_try",
        f"{_VERDICT}::test_an_answer_about_reasoning_tags_is_not_taken_for_reasoning",
    ),
    "M7": (f"{_VERDICT}::test_no_words_outside_reasoning_deserve_a_second_try", _SECOND),
    "M8": (f"{_VERDICT}::test_an_answer_that_was_withheld_is_filtered_for_good", _FINAL),
    "M9": (f"{_VERDICT}::test_a_refusal_is_final_and_never_quoted", _FINAL),
    "M10": (f"{_VERDICT}::test_the_finish_reason_is_looked_at_before_the_content", _SECOND),
    "M14": ("tests/nightly/test_commands.py::test_a_label_that_the_model_made_up_is_told_and_not_set", _NOT_LABELS),
    "M15": (f"{_VERDICT}::test_names_stay_whole", _READ, _NOT_LABELS, _ATTACKS),
    "M16": (
        f"{_POLICY}::test_any_other_name_is_dropped_and_reported",
        _READ,
        _NOT_LABELS,
        f"{_ANSWERS}::test_a_label_that_is_deleted_while_its_answer_waits_is_left_out_and_not_made_again",
        "tests/nightly/test_requests.py::test_an_issue_that_fails_on_three_days_is_given_up_until_retry",
    ),
    "M17": (
        f"{_POLICY}::test_a_vote_finds_its_label_under_the_repositorys_name",
        f"{_TEXT}::test_names_of_labels_and_people_may_be_odd",
    ),
    "M18": (f"{_TEXT}::test_names_of_labels_and_people_may_be_odd", _NOT_LABELS),
    "M20": (f"{_DIALECT}::test_the_ladder_goes_down_as_far_as_the_server_wants", _LADDER),
    "M22": (f"{_DIALECT}::test_the_token_limit_changes_its_name_once", _LADDER),
    "M24": (
        f"{_ANSWERS}::test_a_repository_without_labels_ends_before_the_first_call",
        "tests/nightly/test_setups.py::test_no_label_that_the_policy_allows",
    ),
    "M25": (
        f"{_ANSWERS}::test_the_order_in_which_the_labels_are_listed_changes_no_question_and_no_answer",
        f"{_ANSWERS}::test_the_order_of_the_labels_changes_no_choice_and_each_is_shown_with_its_meaning",
        f"{_POLICY}::test_the_order_of_the_repositorys_labels_is_not_the_order_of_the_question",
        "tests/evaluation/test_metrics.py::test_one_label_is_measured_as_scikit_learn_measures_it",
    ),
    # --- prompt injection through issue text
    "P1": (_ATTACKS, _HARMFUL, _ONE_OBJECT, "tests/core/test_markup.py::test_what_is_not_shown_is_not_sent"),
    "P2": (_ATTACKS, _HARMFUL),
    "P3": (
        f"{_TEXT}::test_issue_text_reaches_no_shell",
        f"{_TEXT}::test_a_script_with_a_title_in_it_would_be_found",
        _ATTACKS,
    ),
    "P4": (
        f"{_PROMPT}::test_a_forged_end_of_the_issue_stays_within_the_data",
        _ONE_OBJECT,
        _ATTACKS,
        _HARMFUL,
    ),
    "P7": (
        _ATTACKS,
        _HARMFUL,
        "tests/core/test_comment.py::test_a_secret_in_any_of_the_words_stops_the_comment",
        "tests/nightly/test_protocol.py::test_a_secret_in_the_models_words_stops_the_post",
    ),
    "P9": (
        "tests/core/test_issue.py::test_a_name_that_ends_in_bot_makes_nobody_us",
        "tests/nightly/test_promise.py::test_a_strangers_copy_of_the_marker_is_a_strangers_text",
    ),
    "P10": (
        f"{_POLICY}::test_labels_that_start_automation_or_bury_an_issue_are_off_by_default",
        _ATTACKS,
        _HARMFUL,
    ),
    # --- noise
    "N1": (_NASTY, _ANY_WORDS, _ATTACKS),
    "N2": (_NASTY, _ANY_WORDS),
    "N5": (
        "tests/test_house_rules.py::test_the_comment_mentions_nobody_and_refers_to_nothing",
        "tests/core/test_comment.py::test_the_template_pings_and_links_nothing",
    ),
    "N6": (_NASTY, _ANY_WORDS, _ATTACKS),
    "N7": (
        f"{_TEXT}::test_our_own_comment_is_no_news_and_calls_no_bot",
        "tests/core/test_comment.py::test_other_bots_find_no_mention_reference_tag_or_command_in_the_raw_text",
        _NASTY,
        f"{_TEXT}::test_what_moves_on_an_issue_without_its_words_asks_nothing",
    ),
    "N8": (_BURIED, f"{_POLICY}::test_labels_that_start_automation_or_bury_an_issue_are_off_by_default"),
    "N9": (_BURIED,),
    # --- odd input
    "I1": (_ODD, _NO_WORD, "tests/core/test_key.py::test_a_null_body_is_an_empty_body"),
    "I2": (_ODD, _CANONICAL, f"{_RETRIES}::test_text_that_cannot_be_encoded_is_never_sent_nor_retried"),
    "I3": (_KEPT, _STORABLE, f"{_VERDICT}::test_words_are_canonical_and_clean_by_construction"),
    "I5": (_ODD, _KEPT, "tests/github/test_records.py::test_names_can_be_stored"),
    "I6": (_NO_WORD, "tests/core/test_key.py::test_the_digest_does_not_depend_on_line_ends"),
    "I7": (
        _NASTY,
        "tests/core/test_comment.py::test_one_endless_reason_is_cut",
        "tests/core/test_comment.py::test_reasons_go_before_a_comment_gets_too_long",
        "tests/github/test_writing.py::test_a_text_that_is_too_long_is_refused_for_good",
    ),
    "I8": (
        f"{_PROMPT}::test_empty_form_sections_go",
        f"{_TEXT}::test_an_empty_section_is_left_out_of_the_question_and_counts_in_the_key",
    ),
    "I10": (_ODD, f"{_PROMPT}::test_words_outside_comments_are_never_lost"),
    "I11": (
        f"{_TEXT}::test_an_issue_of_a_deleted_account_is_answered",
        "tests/github/test_records.py::test_a_deleted_author_is_none_and_an_apps_is_a_bot",
    ),
    "I13": (_ODD, f"{_PROMPT}::test_any_title_is_a_title"),
    "I14": (
        f"{_TEXT}::test_what_moves_on_an_issue_without_its_words_asks_nothing",
        "tests/core/test_issue.py::test_a_snapshot_is_known_by_its_words_only",
    ),
    # --- model client and transport
    "O1": (
        _HANG,
        f"{_TRANSPORT}::test_a_server_that_never_ends_its_answer_costs_one_timeout_an_attempt",
        f"{_TRANSPORT}::test_a_hanging_server_cannot_hold_a_question_past_its_deadline",
    ),
    "O2": (
        f"{_ANSWERS}::test_patience_has_an_end_also_where_nothing_is_configured",
        f"{_RETRIES}::test_a_retry_whose_wait_would_pass_the_deadline_is_not_made",
    ),
    "O3": (_FEW_REQUESTS, _ALWAYS_500),
    "O4": (_MEND, _NO_SUCH_MODEL, f"{_ERRORS}::test_words_in_a_message_never_decide_that_the_quota_is_gone"),
    "O6": (_MEND, _NO_SUCH_MODEL, f"{_ERRORS}::test_a_base_url_without_its_version_is_named_as_the_likely_cause"),
    "O9": (
        f"{_TRANSPORT}::test_an_untrusted_certificate_ends_the_night_at_once",
        f"{_TRANSPORT}::test_a_certificate_named_in_the_environment_is_trusted",
        f"{_TRANSPORT}::test_a_model_on_loopback_is_asked_directly_whatever_the_proxy",
        f"{_TRANSPORT}::test_a_model_elsewhere_is_asked_through_the_proxy",
        f"{_TRANSPORT}::test_no_proxy_names_what_is_asked_directly",
    ),
}
