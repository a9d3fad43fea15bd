"""Which tests hold what went wrong in the field: by case, and by trap. A test is named as `file::function`."""

from __future__ import annotations

_NIGHTS = "tests/nightly"
_LEDGER = "tests/ledger"
_GITHUB = "tests/github"

_SIMULATED = "tests/simulation/test_simulator.py::test_every_history_comes_to_the_rest_that_the_promise_names"
_GUARDS = "tests/simulation/test_simulator.py::test_a_guard_that_is_taken_away_is_noticed"
_KILLED_AT_A_STEP = (
    "tests/brutal/test_kills.py::test_killed_at_any_named_step_the_next_nights_bring_every_issue_to_its_one_comment"
)
_KILLED_AT_AN_INSTANT = "tests/brutal/test_kills.py::test_killed_at_any_instant_alone_or_in_company"
_NOT_CONFIRMED = (
    f"{_NIGHTS}/test_promise.py::test_a_comment_that_was_stored_but_not_confirmed_is_found_and_never_posted_again"
)
_OUTLASTS = (
    f"{_NIGHTS}/test_limits.py::test_a_limit_that_outlasts_the_night_is_one_probe_and_the_rest_waits_for_the_next"
)
_UNTOUCHED = f"{_NIGHTS}/test_field.py::test_an_untouched_issue_is_answered_once_however_many_nights_pass"
_FIRST_NIGHT = (
    "tests/simulation/test_first_night.py::"
    "test_a_first_night_on_many_issues_meets_no_limit_and_carries_the_rest_over_oldest_first"
)
_OVERLAP = f"{_NIGHTS}/test_promise.py::test_two_nights_at_once_with_one_ledger_ask_and_post_once_for_each_issue"
_PAPERS = f"{_NIGHTS}/test_field.py::test_the_papers_say_how_a_schedule_ends_in_silence_and_how_to_notice"
_DEAF_LEDGER = f"{_NIGHTS}/test_field.py::test_nothing_is_asked_or_sent_that_could_not_be_recorded_first"

CASES: dict[str, tuple[str, ...]] = {
    # --- duplicate bot comments
    "D1": (
        _NOT_CONFIRMED,
        f"{_NIGHTS}/test_requests.py::test_a_comment_stored_and_answered_502_is_one_request",
        f"{_GITHUB}/test_line.py::test_a_write_that_is_answered_by_an_error_goes_out_once",
        _SIMULATED,
    ),
    "D2": (
        _NOT_CONFIRMED,
        f"{_NIGHTS}/test_protocol.py::"
        "test_a_post_that_nobody_confirmed_is_found_after_the_settle_time_of_the_same_night",
        f"{_GITHUB}/test_receipts.py::test_a_created_that_proves_nothing_is_unclear",
        _SIMULATED,
    ),
    "D3": (
        f"{_NIGHTS}/test_signals.py::test_killed_between_post_and_record_leaves_one_comment",
        _KILLED_AT_A_STEP,
        _SIMULATED,
    ),
    "D4": (
        f"{_NIGHTS}/test_field.py::test_a_limit_between_an_issues_two_writes_repeats_neither",
        _OUTLASTS,
    ),
    "D5": (
        f"{_NIGHTS}/test_promise.py::test_an_own_comment_behind_260_others_is_found",
        f"{_GITHUB}/test_sweep.py::test_every_nested_list_is_read_to_its_end",
        f"{_GITHUB}/test_reading.py::test_a_look_reads_every_list_to_its_end",
        f"{_GITHUB}/test_sweep.py::test_a_failed_page_of_comments_fails_the_sweep",
    ),
    "D7": (f"{_NIGHTS}/test_promise.py::test_two_ledgers_on_one_repository_leave_no_twin_at_rest", _SIMULATED),
    "D8": (
        f"{_NIGHTS}/test_protocol.py::test_a_worker_that_lost_its_lease_changes_nothing",
        f"{_NIGHTS}/test_protocol.py::"
        "test_the_twin_of_a_worker_that_stalled_before_its_post_is_removed_at_the_end_of_its_night",
        f"{_LEDGER}/test_outbox.py::test_a_worker_that_woke_up_late_changes_nothing",
        _SIMULATED,
    ),
    "D9": (
        f"{_NIGHTS}/test_protocol.py::test_a_failed_look_is_never_taken_for_nothing_there",
        f"{_GITHUB}/test_reading.py::test_a_failed_look_is_an_error_and_never_nothing_found",
    ),
    "D10": (
        f"{_NIGHTS}/test_promise.py::test_a_strangers_copy_of_the_marker_is_a_strangers_text",
        f"{_GITHUB}/test_reading.py::test_a_strangers_marker_is_a_strangers_text",
        _SIMULATED,
    ),
    "D13": (
        "tests/core/test_marker.py::test_a_marker_is_one_clean_html_comment",
        "tests/core/test_comment.py::test_an_impossible_marker_is_refused",
    ),
    "D14": (_UNTOUCHED, f"{_LEDGER}/test_runs.py::test_a_text_with_a_verdict_of_any_day_is_answered"),
    "D15": (
        f"{_NIGHTS}/test_promise.py::test_a_night_labels_and_comments_once_and_the_same_night_again_says_nothing",
        _SIMULATED,
    ),
    # --- rate limits and retries
    "R1": (
        f"{_GITHUB}/test_wire.py::test_every_wording_of_a_limit_is_a_limit_with_the_seconds_that_it_tells",
        f"{_NIGHTS}/test_limits.py::test_two_writes_are_a_second_apart_however_long_the_look_before_the_first_took",
        _OUTLASTS,
    ),
    "R2": (f"{_GITHUB}/test_line.py::test_a_limit_comes_back_at_once_and_is_not_slept_on", _OUTLASTS),
    "R3": (f"{_LEDGER}/test_pace.py::test_no_gate_stays_closed_for_more_than_a_day", _OUTLASTS),
    "R4": (f"{_NIGHTS}/test_field.py::test_a_night_that_a_limit_cut_short_is_gone_on_with_where_it_ended",),
    "R5": (_FIRST_NIGHT,),
    "R6": (_OUTLASTS, f"{_LEDGER}/test_pace.py::test_a_limit_closes_the_gate_for_all_until_it_passes", _SIMULATED),
    "R9": (
        f"{_NIGHTS}/test_limits.py::test_a_refused_permission_stops_the_night_before_the_next_question",
        f"{_NIGHTS}/test_setups.py::test_a_token_that_may_not_write_and_does_not_tell_costs_one_call",
    ),
    "R10": (f"{_GITHUB}/test_line.py::test_a_limit_comes_back_at_once_and_is_not_slept_on", _OUTLASTS),
    "R11": (
        f"{_NIGHTS}/test_promise.py::test_an_outage_loses_no_answer_that_was_paid_for",
        f"{_NIGHTS}/test_commands.py::test_after_an_outage_deliver_sends_what_waits_and_asks_nothing",
    ),
    # --- tracker oddities
    "T1": (f"{_NIGHTS}/test_field.py::test_a_pull_request_is_no_issue",),
    "T2": (
        f"{_NIGHTS}/test_protocol.py::test_an_issue_locked_in_mid_night_is_answered_once_it_is_unlocked",
        "tests/core/test_selection.py::test_what_is_left_alone_says_why",
        _SIMULATED,
    ),
    "T3": (
        f"{_NIGHTS}/test_field.py::test_a_refusal_in_unknown_words_belongs_to_its_issue_until_there_are_five",
        f"{_GITHUB}/test_wire.py::test_a_status_and_its_words_name_one_fault",
    ),
    "T4": (
        f"{_NIGHTS}/test_protocol.py::"
        "test_an_issue_deleted_in_mid_night_is_given_up_with_a_reason_and_the_others_go_on",
        _SIMULATED,
    ),
    "T7": (
        f"{_GITHUB}/test_opening.py::test_a_renamed_repository_is_found_once_and_called_by_its_new_name_from_then_on",
        f"{_GITHUB}/test_writing.py::test_a_repository_renamed_in_the_middle_of_a_night_gets_no_comment",
        f"{_GITHUB}/test_line.py::test_a_redirected_write_is_not_followed",
    ),
    "T8": (f"{_NIGHTS}/test_setups.py::test_archived",),
    "T9": (f"{_GITHUB}/test_opening.py::test_all_labels_are_read_page_by_page",),
    "T10": (
        f"{_GITHUB}/test_writing.py::test_labels_are_added_to_those_that_are_there",
        "tests/core/test_actions.py::test_labels_are_only_ever_added",
    ),
    "T12": (f"{_NIGHTS}/test_setups.py::test_an_api_address_that_answers_html",),
    "T15": (
        f"{_GITHUB}/test_reading.py::test_our_comment_is_ours_under_another_name",
        "tests/core/test_issue.py::test_we_know_ourselves_by_number_and_by_name_only_without_one",
    ),
    "T16": (f"{_NIGHTS}/test_setups.py::test_a_token_that_says_it_may_only_read",),
    # --- schedulers
    "S2": (_UNTOUCHED, f"{_NIGHTS}/test_field.py::test_what_came_in_while_no_night_ran_is_taken_by_the_next"),
    "S3": (_PAPERS, f"{_NIGHTS}/test_commands.py::test_the_age_of_the_last_good_night_is_an_alarm"),
    "S4": (
        f"{_NIGHTS}/test_signals.py::test_stopped_while_the_model_hangs",
        f"{_NIGHTS}/test_signals.py::test_stopped_while_a_post_is_under_way",
        _PAPERS,
    ),
    "S5": (
        f"{_NIGHTS}/test_field.py::test_the_clocks_of_no_zone_make_a_second_night",
        f"{_NIGHTS}/test_commands.py::test_the_day_does_not_change_while_the_night_lasts",
        _SIMULATED,
    ),
    "S6": (_OVERLAP, f"{_LEDGER}/test_runs.py::test_a_text_is_claimed_by_one_worker", _SIMULATED),
    "S7": (f"{_NIGHTS}/test_field.py::test_a_ledger_of_some_nights_ago_leads_to_no_second_comment", _SIMULATED),
    "S8": (
        f"{_NIGHTS}/test_promise.py::test_a_lost_ledger_costs_no_call_and_no_write_where_a_marker_stands",
        _SIMULATED,
    ),
    "S9": (
        f"{_NIGHTS}/test_signals.py::test_killed_while_asking_costs_one_more_call_and_a_try",
        f"{_LEDGER}/test_runs.py::test_a_lease_that_is_over_can_be_claimed_in_another_night",
        f"{_LEDGER}/test_runs.py::test_crashes_on_three_days_make_a_text_dead",
        _KILLED_AT_AN_INSTANT,
        _SIMULATED,
    ),
    # --- SQLite ledger
    "L1": (f"{_LEDGER}/test_processes.py::test_four_processes_and_two_hundred_keys_have_two_hundred_winners",),
    "L2": (
        f"{_NIGHTS}/test_field.py::test_a_lock_that_passes_is_waited_for_and_costs_nothing",
        f"{_LEDGER}/test_processes.py::test_a_reader_does_not_wait_for_a_writer",
    ),
    "L4": (
        f"{_NIGHTS}/test_field.py::test_a_ledger_that_is_locked_for_ever_ends_the_night_and_sends_nothing",
        f"{_LEDGER}/test_runs.py::test_a_locked_ledger_is_a_failed_claim",
        f"{_LEDGER}/test_opening.py::test_a_ledger_that_stays_locked_cannot_be_opened",
    ),
    "L5": (
        _DEAF_LEDGER,
        f"{_LEDGER}/test_opening.py::test_a_full_disk_says_so_and_changes_nothing",
        f"{_LEDGER}/test_opening.py::test_a_disk_that_fills_up_never_half_writes",
    ),
    "L6": (
        f"{_LEDGER}/test_opening.py::test_a_read_only_file_says_so",
        f"{_LEDGER}/test_opening.py::test_a_read_only_folder_says_so",
        f"{_NIGHTS}/test_setups.py::test_a_ledger_path_that_cannot_be_written",
    ),
    "L8": (
        f"{_NIGHTS}/test_setups.py::test_a_moved_aside_corrupt_ledger_goes_on_from_the_markers",
        f"{_LEDGER}/test_opening.py::test_a_damaged_ledger_is_to_be_moved_aside",
        f"{_LEDGER}/test_opening.py::test_a_ledger_that_was_cut_off_is_damaged",
        f"{_LEDGER}/test_opening.py::test_a_garbage_log_is_damage_and_not_an_empty_log",
    ),
}

TRAPS: dict[str, tuple[str, tuple[str, ...]]] = {
    "trap-1": ("default page of 30", (*CASES["D5"], *CASES["T9"], *CASES["T1"])),
    "trap-2": ("replace everything", CASES["T10"]),
    "trap-3": (
        "creates unknown labels silently",
        (
            "tests/core/test_policy.py::test_a_label_that_the_repository_lost_is_never_made_anew",
            "tests/core/test_policy.py::test_what_is_missing_is_added_in_the_repositorys_spelling",
            f"{_NIGHTS}/test_commands.py::test_a_label_that_the_model_made_up_is_told_and_not_set",
        ),
    ),
    "trap-4": ("cancel-in-progress", (_PAPERS, *CASES["S4"])),
    "trap-5": ("Side effect before state change", (_GUARDS, _DEAF_LEDGER, *CASES["D3"])),
    "trap-6": (
        "Marker written by a stranger",
        (
            *CASES["D10"],
            "tests/core/test_marker.py::test_only_the_first_line_counts",
            "tests/core/test_comment.py::test_the_marker_is_the_first_line_then_the_labels_then_one_small_line",
            "tests/core/test_comment.py::test_reasons_go_before_a_comment_gets_too_long",
        ),
    ),
    "trap-7": (
        "re-read state right before posting",
        (
            *CASES["T2"],
            *CASES["T4"],
            f"{_NIGHTS}/test_protocol.py::test_an_issue_that_moved_to_another_repository_gets_nothing_there",
            f"{_NIGHTS}/test_promise.py::test_an_issue_that_was_closed_in_mid_night_is_answered_once_it_is_open_again",
            f"{_NIGHTS}/test_promise.py::"
            "test_a_text_that_changes_while_the_model_thinks_gets_no_answer_for_the_old_one",
        ),
    ),
    "trap-8": ("moves `updated_at`", ("tests/core/test_issue.py::test_a_snapshot_is_known_by_its_words_only",)),
    "trap-9": ("naive content hash", ("tests/core/test_key.py::test_the_digest_does_not_depend_on_line_ends",)),
    "trap-10": (
        "zero-width and bidi",
        (
            "tests/core/test_comment.py::test_no_words_ever_leave_their_code_span",
            "tests/core/test_prompt.py::test_a_forged_end_of_the_issue_stays_within_the_data",
            "tests/core/test_prompt.py::test_hidden_comments_go_and_code_stays",
            "tests/core/test_unseen.py::test_what_carries_hidden_words_goes",
        ),
    ),
    "trap-11": (
        "Search API",
        (
            f"{_GITHUB}/test_sweep.py::"
            "test_a_sweep_shows_every_open_issue_once_oldest_first_in_a_request_for_each_hundred",
        ),
    ),
    "trap-12": ("space the POSTs", (*CASES["R1"], f"{_LEDGER}/test_pace.py::test_workers_share_the_pace")),
    "trap-13": (
        "self-trigger loops",
        (
            _UNTOUCHED,
            "tests/core/test_policy.py::test_labels_that_start_automation_or_bury_an_issue_are_off_by_default",
        ),
    ),
    "trap-14": ("disabled after 60 days", (_PAPERS, *CASES["S2"])),
    "trap-15": (
        "judge by the live issue",
        (
            f"{_NIGHTS}/test_protocol.py::"
            "test_a_label_that_the_answer_does_not_show_is_told_and_not_claimed_in_the_comment",
            f"{_NIGHTS}/test_promise.py::test_a_bot_that_cannot_recognise_its_own_comment_stops_writing",
            f"{_NIGHTS}/test_commands.py::test_the_age_of_the_last_good_night_is_an_alarm",
        ),
    ),
}
