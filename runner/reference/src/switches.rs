//! Ways to break or bend the provider, each by name. The main type is [`Switches`].
//!
//! A *fault* breaks one requirement: the vectors that name the requirement must notice. A *leeway* is another behaviour
//! that the specification allows: no vector may mind. To add one, write a row in the registry below and one line at the
//! place where it acts (`self.broken(Fault::…)`, `self.leeway(Leeway::…)`); a fault that only changes how a reply looks
//! belongs into `distort.rs`, where the protocol's own code stays as it is.

use crate::error::{Error, Result};

/// What the registry says of a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Info {
    /// Its name, for command lines and reports.
    pub name: &'static str,
    /// For a fault the requirement that it breaks; for a leeway the requirement or rule that allows it.
    pub rests_on: &'static str,
    /// One sentence: what the provider does.
    pub what: &'static str,
}

macro_rules! registry {
    ($(#[$doc:meta])* $kind:ident { $($variant:ident $name:literal $rests_on:literal $what:literal;)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $kind { $(#[doc = $what] $variant,)* }

        impl $kind {
            /// The registry, in the order of the enum.
            pub const ALL: &'static [(Info, $kind)] =
                &[$((Info { name: $name, rests_on: $rests_on, what: $what }, $kind::$variant),)*];
        }
    };
}

registry! {
    /// Behaviours that break the specification.
    Fault {
        LegacyVersionGone "manifest_without_legacy_version" "CETP2-2.1-01"
            "A dual-stack manifest has versions=\"1,2\" and version=2.";
        V1ListsWrites "v1_lists_writes" "CETP2-2.1-04"
            "The v1 list_tools shows every tool.";
        V1RunsWrites "v1_runs_writes" "CETP2-8-03"
            "The v1 execute_tool runs a tool with side effects.";
        FirstVersionWins "negotiate_takes_first_version" "CETP2-2.2-05"
            "negotiate selects the last supported version of the list instead of the highest.";
        CapabilitiesUnasked "negotiate_grants_unasked" "CETP2-2.2-06"
            "negotiate returns every capability of the provider, asked for or not.";
        PredictableToken "session_token_counts" "CETP2-2.2-07"
            "Session tokens are numbered.";
        SessionOfAnyUid "session_of_any_uid" "CETP2-2.2-08"
            "A session token works for another UID.";
        SessionNeverExpires "session_never_expires" "CETP2-2.2-10"
            "A session token works past its expires_at.";
        CapabilityUnchecked "capability_unchecked" "CETP2-2.3-02"
            "get_operation and cancel_operation work without their capability.";
        SessionOutlivesCapability "session_outlives_capability" "CETP2-2.3-03"
            "A dropped capability changes what old sessions get, and they stay valid.";
        RevisionConstant "revision_constant" "CETP2-3.3-02"
            "revision never changes.";
        ReadWrites "read_writes" "CETP2-3.4-02"
            "fixture_echo writes an entry into the ledger.";
        EscalationIgnored "escalation_ignored" "CETP2-3.4-07"
            "A risk above the static declaration does not lead to a confirmation.";
        AnyScopeSuffices "scopes_unchecked" "CETP2-3.4-08"
            "Missing scopes are not noticed.";
        AdminHoldsAll "admin_holds_all" "CETP2-3.4-08"
            "Whoever holds fixture.admin holds every scope.";
        ScopeCheckedLate "scope_checked_late" "CETP2-3.4-08"
            "Whether a scope is missing is noticed after the effect.";
        MissingScopeReduces "missing_scope_reduces" "CETP2-3.4-08"
            "A read whose scope is missing succeeds with an empty value.";
        JobAcceptedWithoutAsync "job_accepted_without_async" "CETP2-3.4-05"
            "A sync_or_async tool becomes an operation in any session.";
        JobFailsWithoutAsync "job_fails_without_async" "CETP2-3.4-05"
            "A sync_or_async tool is INTERNAL_ERROR where async_operations was not negotiated.";
        SyncToolAccepted "sync_tool_accepted" "CETP2-3.4-09"
            "Every tool with side effects becomes an operation where async_operations was negotiated.";
        LargeReadAccepted "large_read_accepted" "CETP2-3.4-09"
            "A read with a result above the inline limit is answered with an operation where there can be one and no file.";
        ScopesRemembered "scopes_remembered" "CETP2-7.2-02"
            "Scopes are checked at a UID's first call of a tool and then taken as given.";
        ScopesOfSession "scopes_of_session" "CETP2-7.2-02"
            "The scopes of a UID are those that it held when it last negotiated.";
        ConfirmedSkipsScopes "confirmed_skips_scopes" "CETP2-7.2-02"
            "A call that comes back with a resume token is not asked for its scopes again.";
        SizeInCharacters "size_in_characters" "CETP2-4.1-04"
            "The length of args is counted in characters.";
        DeadlineIgnored "deadline_ignored" "CETP2-4.1-10"
            "A past deadline does not stop a write.";
        OutputUnchecked "output_unchecked" "CETP2-4.2-02"
            "A value that breaks output_schema is returned.";
        TokenForAnyArgs "token_for_any_args" "CETP2-4.3-05"
            "A resume token is not bound to the args bytes.";
        TokenReusable "token_reusable" "CETP2-4.3-08"
            "A resume token can be used more than once, under any request_id.";
        ConfirmedFlagBelieved "confirmed_flag_believed" "CETP2-4.3-10"
            "A member confirmed=true in the arguments stands in for the user.";
        DenialForgotten "denial_forgotten" "CETP2-4.3-13"
            "Coming back after a denial executes.";
        OperationOfAnyUid "operation_of_any_uid" "CETP2-4.4-08"
            "Another UID can read and cancel an operation.";
        CancelAfterCommit "cancel_after_commit" "CETP2-4.4-12"
            "An operation whose effect is committed becomes cancelled.";
        CancelledYetRuns "cancelled_yet_runs" "CETP2-4.4-11"
            "A cancelled operation still commits its effect when its turn comes.";
        ReservationsInMemory "reservations_in_memory" "CETP2-4.4-10"
            "Records of executions are lost when the process ends.";
        PollWithAnyRequestId "poll_with_any_request_id" "CETP2-4.1-08"
            "get_operation does not look at request_id.";
        CancelWithAnyRequestId "cancel_with_any_request_id" "CETP2-4.1-08"
            "cancel_operation does not look at request_id.";
        AnyOwnRequestId "operation_of_any_own_request" "CETP2-4.1-08"
            "An operation is found with the request_id of any execution of the same caller.";
        AcceptedWithoutPollAfter "accepted_without_poll_after" "CETP2-4.4-01"
            "accepted has no poll_after_ms.";
        AcceptedIdIsNumber "accepted_id_is_number" "CETP2-4.4-01"
            "operation_id in accepted is a number.";
        AcceptedWithoutEcho "accepted_without_echo" "CETP2-4.4-01"
            "accepted has no request_id.";
        AcceptedVersionIsLong "accepted_version_is_long" "CETP2-4.4-01"
            "protocol_version of accepted is a Long.";
        AcceptedCalledSuccess "accepted_called_success" "CETP2-4.4-01"
            "An accepted execution is answered with status=success.";
        StateInUppercase "state_in_uppercase" "CETP2-4.4-02"
            "get_operation writes the state in uppercase.";
        QueuedIsPending "queued_is_pending" "CETP2-4.4-02"
            "An operation that has not begun is called pending.";
        PollWithoutOperationId "poll_without_operation_id" "CETP2-4.4-02"
            "get_operation does not name the operation.";
        FailedPollIsError "poll_of_failed_is_error" "CETP2-4.4-02"
            "get_operation of a failed operation answers with the operation's error instead of its state.";
        ResultIsBareValue "result_is_bare_value" "CETP2-4.4-03"
            "result of a succeeded operation is the value without the envelope.";
        ResultBesideState "result_beside_state" "CETP2-4.4-03"
            "kind and value lie beside the state instead of in result.";
        FailedErrorIsText "failed_error_is_text" "CETP2-4.4-03"
            "error of a failed operation is its message.";
        FailedWithoutRetryable "failed_without_retryable" "CETP2-4.4-03"
            "error of a failed operation has no retryable.";
        FailedCarriesResult "failed_carries_result" "CETP2-4.4-03"
            "A failed operation carries a result beside its error.";
        ProgressIsText "progress_is_text" "CETP2-4.4-04"
            "progress is a text.";
        CancelSaysCancelled "cancel_says_cancelled" "CETP2-4.4-06"
            "cancel_operation answers with the state cancelled.";
        CancelReplyIsBare "cancel_reply_is_bare" "CETP2-4.4-06"
            "cancel_operation answers without a state.";
        PollOfAnyUid "poll_of_any_uid" "CETP2-4.4-08"
            "Another UID can read an operation.";
        EndedOperationOfAnyUid "ended_operation_of_any_uid" "CETP2-4.4-08"
            "Another UID can read an operation that has ended.";
        CancelOfAnyUid "cancel_of_any_uid" "CETP2-4.4-08"
            "Another UID can cancel an operation.";
        ForeignOperationDenied "foreign_operation_denied" "CETP2-4.4-08"
            "An operation of another UID is PERMISSION_DENIED, one that never existed is not.";
        ResultReadOnce "operation_read_once" "CETP2-4.4-09"
            "An operation is forgotten when its end has been told.";
        WindowInMilliseconds "operation_window_in_ms" "CETP2-4.4-09"
            "An operation is kept for as many milliseconds as it should be seconds.";
        WindowHalved "operation_kept_half" "CETP2-4.4-09"
            "An operation is kept for half of the idempotency window.";
        FewOperationsKept "few_operations_kept" "CETP2-4.4-09"
            "Only the last 64 operations are kept.";
        OperationOfSession "operation_of_session" "CETP2-4.4-09"
            "An operation is found in the session only that started it.";
        ExpiredIsEmptySuccess "expired_is_empty_success" "CETP2-5-12"
            "get_operation of an expired operation succeeds with nothing in it.";
        ExpiredIsInternalError "expired_is_internal_error" "CETP2-5-12"
            "get_operation of an expired operation is INTERNAL_ERROR.";
        OperationsForgotten "operations_forgotten_at_restart" "CETP2-4.4-10"
            "Operations that have not ended are forgotten when the process ends.";
        CommittedRunsAgain "committed_runs_again" "CETP2-4.4-10"
            "An operation whose effect was committed runs again after a restart.";
        CommittedFails "committed_fails_at_restart" "CETP2-4.4-10"
            "After a restart every operation that had not ended has failed, also one whose effect was committed.";
        RunningCancelledYetRuns "running_cancelled_yet_runs" "CETP2-4.4-11"
            "An operation that was cancelled after it began still commits its effect.";
        CancelInMemory "cancel_in_memory" "CETP2-4.4-11"
            "That an operation was cancelled is lost when the process ends, and it goes on.";
        CommittedShownCancelled "committed_shown_cancelled" "CETP2-4.4-12"
            "A committed operation that is asked to cancel is shown as cancelled until it has succeeded.";
        CancelAfterEnd "cancel_after_end" "CETP2-4.4-13"
            "An operation that has ended becomes cancelled when it is asked to.";
        EndedForgotten "ended_forgotten_at_restart" "CETP2-4.4-13"
            "How operations ended is lost when the process ends.";
        LateFailureWins "late_failure_wins" "CETP2-4.4-13"
            "A failure that is noticed late takes the place of a success.";
        FailedRunsAgain "failed_runs_again_at_restart" "CETP2-4.4-13"
            "An operation that failed runs again after a restart.";
        RepeatIsConflict "repeat_is_conflict" "CETP2-4.4-14"
            "Repeating an accepted execution that is under way is CONFLICT.";
        RepeatGetsNewName "repeat_gets_new_name" "CETP2-4.4-14"
            "Repeating an accepted execution gives another operation_id.";
        RepeatRunsFailed "repeat_runs_failed" "CETP2-4.4-14"
            "Repeating an accepted execution that failed executes again.";
        RepeatRunsCancelled "repeat_runs_cancelled" "CETP2-4.4-14"
            "Repeating an accepted execution that was cancelled executes again.";
        LoserNamesItsOwn "loser_names_its_own" "CETP2-4.4-14"
            "Of identical requests at the same time each is told an operation of its own.";
        UnknownOperationQueued "unknown_operation_queued" "CETP2-4.4-16"
            "An operation that never existed is queued.";
        UnknownOperationCancelled "unknown_operation_cancelled" "CETP2-4.4-16"
            "Cancelling an operation that never existed succeeds.";
        OperationIdAsPattern "operation_id_as_pattern" "CETP2-4.4-16"
            "operation_id is looked up as an SQL pattern.";
        CancelChecksFirst "cancel_checks_first" "CETP2-4.4-18"
            "cancel_operation looks at the state and then cancels, in two transactions.";
        CommitChecksFirst "commit_checks_first" "CETP2-4.4-11"
            "An operation looks whether it was cancelled and then has its effect, in two transactions.";
        InlineAboveLimit "inline_above_limit" "CETP2-4.5-01"
            "A result above the inline limit is put into the Bundle.";
        InlineLimitInCharacters "inline_limit_in_characters" "CETP2-4.5-01"
            "The inline limit is counted in characters.";
        InlineLimitOffByOne "inline_limit_off_by_one" "CETP2-4.5-01"
            "A value of one byte above the inline limit is put into the Bundle.";
        InlineLimitBeforeEscaping "inline_limit_before_escaping" "CETP2-4.5-01"
            "The inline limit is counted before quotation marks are escaped.";
        InlineLimitInUtf16 "inline_limit_in_utf16_bytes" "CETP2-4.5-02"
            "The inline limit is counted in bytes of UTF-16.";
        InlineOnly64K "inline_only_64k" "CETP2-4.5-02"
            "Inline is what has at most 64 KiB, whatever was negotiated.";
        TooLargeIsInternalError "too_large_is_internal_error" "CETP2-4.5-03"
            "A result that is too large is INTERNAL_ERROR.";
        TooLargeTruncated "too_large_truncated" "CETP2-4.5-03"
            "A result that is too large is cut short.";
        FileUnasked "file_unasked" "CETP2-4.5-03"
            "A large result comes as a file in any session.";
        MediaTypeOctets "media_type_octets" "CETP2-4.5-04"
            "media_type of a file is application/octet-stream.";
        SizeIsText "size_is_text" "CETP2-4.5-04"
            "size_bytes is a text.";
        FileWithoutDescriptor "file_without_descriptor" "CETP2-4.5-04"
            "A file result has no result_fd.";
        FileSizeInCharacters "file_size_in_characters" "CETP2-4.5-06"
            "size_bytes counts characters.";
        DigestOfEnvelope "digest_of_envelope" "CETP2-4.5-06"
            "sha256 is that of the inline envelope, not of the file.";
        FileHoldsEnvelope "file_holds_envelope" "CETP2-4.5-06"
            "The file holds the inline envelope instead of the value.";
        FileCutAt1MiB "file_cut_at_1_mib" "CETP2-4.5-06"
            "A file ends after 1 MiB.";
        FileEndsInNewline "file_ends_in_newline" "CETP2-4.5-06"
            "A file ends in a newline that size_bytes and sha256 do not count.";
        FileShared "file_shared" "CETP2-4.5-06"
            "Equal results share one open file and its position.";
        FilesCloseTogether "files_close_together" "CETP2-4.5-06"
            "Closing one result closes all.";
        OperationResultAnySize "operation_result_any_size" "CETP2-4.5-13"
            "The result of an operation is inline, whatever its size.";
        OperationResultNeverFile "operation_result_never_file" "CETP2-4.5-13"
            "A large result of an operation is RESULT_TOO_LARGE also with large_results.";
        FileCapAt1MiB "file_cap_at_1_mib" "CETP2-4.5-14"
            "A result above 1 MiB is RESULT_TOO_LARGE also with large_results.";
        DigestInUppercase "digest_in_uppercase" "CETP2-4.5-04"
            "sha256 is written in uppercase.";
        FileWritable "file_writable" "CETP2-4.5-05"
            "result_fd is open for reading and writing.";
        SchemaRefersToNetwork "schema_refers_to_network" "CETP2-3.2-06"
            "The output_schema of every tool has a $ref to a network resource.";
        AnnotationMissing "annotation_missing" "CETP2-3.4-01"
            "annotations lacks open_world.";
        RetryableMissing "retryable_missing" "CETP2-5-01"
            "Error Bundles have no retryable.";
        RetryAfterIsInt "retry_after_is_int" "CETP2-5-02"
            "retry_after_ms is an Int.";
        ExceptionTold "exception_told" "CETP2-5-05"
            "error_message holds what the exception said.";
        ExceptionCrosses "exception_crosses" "CETP2-5-13"
            "A tool's exception crosses the Binder.";
        HiddenDenied "hidden_told_apart" "CETP2-5-11"
            "A hidden tool is answered otherwise than one that does not exist.";
        NotDeduplicated "not_deduplicated" "CETP2-6-01"
            "A repeat executes again.";
        IdempotentNotDeduplicated "idempotent_not_deduplicated" "CETP2-6-08"
            "A repeat of a tool with idempotent=true executes again.";
        OtherArgsRepeat "other_args_repeat" "CETP2-6-03"
            "The same request_id with another tool or other args gets the stored result.";
        UidNotInKey "uid_not_in_key" "CETP2-6-02"
            "The deduplication key lacks the UID.";
        ReservesLate "reserves_late" "CETP2-6-06"
            "An execution is recorded when it ends, so identical ones that overlap all execute.";
        ResultStoredLater "result_stored_later" "CETP2-6-10"
            "The effect and the stored result are two transactions.";
        ReservationStuck "reservation_stuck" "CETP2-6-11"
            "A reservation of a process that died is never taken over: UNAVAILABLE for ever.";
        FirstPackageOnly "first_package_only" "CETP2-7.1-02"
            "Only the first package of a UID is considered.";
        AnyPackageSuffices "any_package_suffices" "CETP2-7.1-05"
            "A grant to any one package of the UID holds for all of them.";
        CertificateIgnored "certificate_ignored" "CETP2-7.1-03"
            "A grant holds under another signing certificate.";
        IdentityRemembered "identity_remembered" "CETP2-7.1-03"
            "Packages and certificates of a UID are looked up at its first call and then taken as given.";
        GrantNeverExpires "grant_never_expires" "CETP2-7.1-04"
            "The validity of a grant is not looked at.";
        RotationBackwards "rotation_backwards" "CETP2-7.1-05"
            "A grant to a rotated certificate holds for the certificate that it replaced.";
        CallerFromExtras "caller_from_extras" "CETP2-7.1-01"
            "A calling_uid in extras is believed.";
        CallerLookedAtLate "caller_looked_at_late" "CETP2-7.1-01"
            "The caller is who called last when it is needed, not who made this call.";
        HiddenListed "hidden_listed" "CETP2-7.2-01"
            "list_tools shows hidden tools.";
        AuditHoldsArgs "audit_holds_args" "CETP2-7.2-04"
            "Audit events hold the arguments.";
        AuditHoldsBadArgs "audit_holds_bad_args" "CETP2-7.2-04"
            "Audit events of INVALID_ARGS hold the arguments.";
        AuditForgetsRefusals "audit_forgets_refusals" "CETP2-7.2-04"
            "Nothing is written down of a call that is refused.";
        AuditWithoutEnd "audit_without_end" "CETP2-7.2-04"
            "Audit events say of every call that it was made, and not how it ended.";
        AuditWithoutCaller "audit_without_caller" "CETP2-7.2-04"
            "Audit events name the provider's own UID.";
        AuditWithoutRequest "audit_without_request" "CETP2-7.2-04"
            "Audit events have no request_id.";
        OverloadIsInternalError "overload_is_internal_error" "CETP2-6-12"
            "Above max_concurrent_requests the answer is INTERNAL_ERROR.";
        OverloadPretends "overload_pretends" "CETP2-6-12"
            "Above max_concurrent_requests a write is answered with success and lost.";
        OverloadDoubles "overload_doubles" "CETP2-6-12"
            "Above max_concurrent_requests the answer is RATE_LIMITED, and the write is executed and not recorded.";
        ReadsCoalesced "reads_coalesced" "CETP2-6-12"
            "Reads of one tool at the same time share one result, whatever their arguments.";
        QuestionWithoutObject "question_without_object" "CETP2-7.2-03"
            "The confirmation shows the tool's title only.";
    }
}

registry! {
    /// Behaviours that the specification allows beside the usual one.
    Leeway {
        V1OfferRefused "v1_offer_refused" "CETP2-2.2-05"
            "A dual-stack provider answers consumer_versions 1 alone with UNSUPPORTED_VERSION.";
        SameTokenForSameOffer "same_token_for_same_offer" "CETP2-2.2-19"
            "negotiate gives the live token again for an equal offer.";
        JobHiddenWithoutAsync "job_hidden_without_async" "CETP2-3.4-05"
            "A sync_or_async tool is TOOL_NOT_FOUND and not listed where async_operations was not negotiated.";
        JobUnsupportedWithoutAsync "job_unsupported_without_async" "CETP2-3.4-05"
            "A sync_or_async tool is UNSUPPORTED_CAPABILITY where async_operations was not negotiated.";
        PermissionDenied "permission_denied" "CETP2-3.4-08"
            "A missing scope other than fixture.secret is PERMISSION_DENIED: the user is not asked for it.";
        DeadlineFirst "deadline_first" "CETP2-4.1-12"
            "A past deadline is noticed before a stored result is looked up.";
        ReadsIgnoreDeadline "reads_ignore_deadline" "CETP2-4.1-10"
            "A read with a past deadline is answered.";
        BadTokenAsksAnew "bad_token_asks_anew" "CETP2-4.3-03"
            "A resume token that does not fit is ignored, and the user is asked anew.";
        DismissLeavesPending "dismiss_leaves_pending" "CETP2-4.3-13"
            "Leaving the confirmation without a decision decides nothing.";
        RepeatGivesResult "repeat_gives_result" "CETP2-4.4-14"
            "Repeating an accepted execution that has ended gives its terminal result.";
        RepeatIsConflictWithoutAsync "repeat_is_conflict_without_async" "CETP2-4.4-14"
            "Repeating an execution that goes on as an operation is CONFLICT where async_operations was not negotiated.";
        RepeatIsUnavailableWithoutAsync "repeat_is_unavailable_without_async" "CETP2-4.4-14"
            "Repeating an execution that goes on as an operation is UNAVAILABLE where async_operations was not negotiated.";
        CancelNoticedLate "cancel_noticed_late" "CETP2-4.4-02"
            "An operation that is asked to cancel is cancellation_requested until it notices.";
        CancelIgnored "cancel_ignored" "CETP2-4.4-06"
            "The request to cancel is taken, and the work goes on to its end.";
        EndedCancelTellsState "ended_cancel_tells_state" "CETP2-4.4-06"
            "Cancelling an operation that has ended tells its state.";
        EndedCancelRequested "ended_cancel_requested" "CETP2-4.4-06"
            "Cancelling an operation that has ended is taken, and changes nothing.";
        CommittedCancelTaken "committed_cancel_taken" "CETP2-4.4-12"
            "The request to cancel a committed operation is taken, and changes nothing.";
        RestartFailsUnfinished "restart_fails_unfinished" "CETP2-4.4-10"
            "An operation that had no effect when the process ended has failed.";
        OperationsKept "operations_kept" "CETP2-5-12"
            "Operations are kept for good.";
        UnknownOperationExpired "unknown_operation_expired" "CETP2-4.4-16"
            "An operation that is not found is RESULT_EXPIRED, whatever the reason.";
        UnknownOperationDenied "unknown_operation_denied" "CETP2-4.4-08"
            "An operation that is not the caller's is PERMISSION_DENIED, also one that never existed.";
        NullMembers "null_members" "CETP2-4.4-03"
            "What a state does not have is null in it.";
        BareStates "bare_states" "CETP2-4.4-02"
            "get_operation tells the state without progress or poll_after_ms, and work is never queued.";
        GreyZoneInline "grey_zone_inline" "CETP2-4.5-01"
            "Inline is what has a value of at most the limit, whatever the envelope adds.";
        EscapesNonAscii "escapes_non_ascii" "CETP2-4.5-02"
            "JSON is written in ASCII, with everything else escaped.";
        IndentsData "indents_data" "CETP2-4.5-02"
            "The JSON of an inline result is indented.";
        FileCapAt8MiB "file_cap_at_8_mib" "CETP2-4.5-14"
            "A result above 8 MiB is RESULT_TOO_LARGE.";
        SmallResultsAsFile "small_results_as_file" "CETP2-4.5-02"
            "Every result comes as a file where large_results was negotiated.";
        RateLimited "rate_limited" "CETP2-6-12"
            "Above max_concurrent_requests the answer is RATE_LIMITED instead of a place in the queue.";
        OverloadUnavailable "overload_unavailable" "CETP2-6-12"
            "Above max_concurrent_requests the answer is UNAVAILABLE.";
        RotationAccepted "rotation_accepted" "CETP2-7.1-07"
            "A grant holds under a certificate whose history holds the granted one.";
        ToolsWithoutScopeHidden "tools_without_scope_hidden" "CETP2-7.2-01"
            "A tool other than fixture_secret whose scope the caller lacks is hidden from it.";
        AuditTellsMore "audit_tells_more" "CETP2-7.2-04"
            "The audit has an event for each stage of a call.";
    }
}

/// A set of switches; empty for a conforming provider.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Switches {
    faults: [u64; 4],
    leeways: u64,
}

const _: () = assert!(Fault::ALL.len() <= 256 && Leeway::ALL.len() <= 64, "a set has a bit for each switch");

impl Switches {
    /// The set of these names, faults and leeways mixed.
    ///
    /// # Errors
    /// A name that the registries do not have.
    pub fn from_names<S: AsRef<str>>(names: impl IntoIterator<Item = S>) -> Result<Switches> {
        names.into_iter().try_fold(Switches::default(), |set, name| {
            let name = name.as_ref();
            let fault = Fault::ALL.iter().find(|(info, _)| info.name == name);
            let leeway = Leeway::ALL.iter().find(|(info, _)| info.name == name);
            match (fault, leeway) {
                (Some((_, fault)), _) => Ok(set.with_fault(*fault)),
                (None, Some((_, leeway))) => Ok(set.with_leeway(*leeway)),
                (None, None) => Err(Error::UnknownSwitch(name.to_owned())),
            }
        })
    }

    /// Adds a fault.
    #[must_use]
    pub fn with_fault(mut self, fault: Fault) -> Switches {
        self.faults[fault as usize / 64] |= 1 << (fault as usize % 64);
        self
    }

    /// Adds a leeway.
    #[must_use]
    pub fn with_leeway(mut self, leeway: Leeway) -> Switches {
        self.leeways |= 1 << leeway as usize;
        self
    }

    /// Whether the provider is to break a requirement in this way.
    pub fn broken(&self, fault: Fault) -> bool {
        self.faults[fault as usize / 64] & (1 << (fault as usize % 64)) != 0
    }

    /// Whether the provider is to use this leeway.
    pub fn leeway(&self, leeway: Leeway) -> bool {
        self.leeways & (1 << leeway as usize) != 0
    }

    /// The names of the switches that are on.
    pub fn names(&self) -> Vec<&'static str> {
        let faults = Fault::ALL.iter().filter(|(_, fault)| self.broken(*fault)).map(|(info, _)| info.name);
        let leeways = Leeway::ALL.iter().filter(|(_, leeway)| self.leeway(*leeway)).map(|(info, _)| info.name);
        faults.chain(leeways).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn names_are_unique_and_lead_back() {
        let infos = || Fault::ALL.iter().map(|(info, _)| info).chain(Leeway::ALL.iter().map(|(info, _)| info));
        let names: BTreeSet<_> = infos().map(|info| info.name).collect();
        assert_eq!(names.len(), infos().count());
        for name in &names {
            assert_eq!(Switches::from_names([name]).unwrap().names(), [*name]);
        }
        assert_eq!(Switches::from_names(&names).unwrap().names().len(), names.len());
        assert!(matches!(Switches::from_names(["no_such"]), Err(Error::UnknownSwitch(_))));
    }

    #[test]
    fn every_switch_rests_on_a_requirement_of_the_ledger() {
        let ledger: serde_json::Value =
            serde_json::from_str(include_str!("../../../vectors/requirements/cetp-v2.json")).unwrap();
        let ids: BTreeSet<_> =
            ledger["requirements"].as_array().unwrap().iter().filter_map(|row| row["id"].as_str()).collect();
        for (info, _) in Fault::ALL {
            assert!(ids.contains(info.rests_on), "{}: {}", info.name, info.rests_on);
        }
        for (info, _) in Leeway::ALL {
            assert!(ids.contains(info.rests_on), "{}: {}", info.name, info.rests_on);
        }
    }
}
