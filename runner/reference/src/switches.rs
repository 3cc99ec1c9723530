//! Ways to break or bend the provider, each by name. The main type is [`Switches`].
//!
//! A *fault* breaks one requirement: the vectors that name the requirement must notice. A *leeway* is another behaviour
//! that the specification allows: no vector may mind. To add one, write a row in the registry below and one line at the
//! place where it acts (`self.broken(Fault::…)`, `self.leeway(Leeway::…)`); a fault that only changes how a reply looks
//! belongs into `distort.rs`, where the protocol's own code stays as it is.

use crate::registry::registry;

pub use crate::registry::Info;

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
        OperationRepeatIsConflict "operation_repeat_is_conflict" "CETP2-4.4-14"
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

        // Manifest, negotiation, descriptors, envelope, v1.
        ManifestVersionsNotASet "manifest_versions_without_1" "CETP2-2.1-01"
            "A dual-stack manifest has versions=2 beside version=1.";
        ManifestVersionIsTheSet "manifest_version_is_the_set" "CETP2-2.1-01"
            "A dual-stack manifest has the set in both fields.";
        ManifestV2OnlySaysVersion1 "manifest_v2_only_says_version_1" "CETP2-2.1-05"
            "A v2-only manifest keeps version=1.";
        ManifestV2OnlyWithoutVersions "manifest_v2_only_without_versions" "CETP2-2.1-05"
            "A v2-only manifest has no versions.";
        ManifestServiceNotExported "manifest_service_not_exported" "CETP2-2.1-08"
            "The discovery service is not exported.";
        ManifestOtherAction "manifest_other_action" "CETP2-2.1-08"
            "The discovery service has an action of the provider's own.";
        ManifestWithoutAuthority "manifest_without_authority" "CETP2-2.1-08"
            "The discovery service names no authority.";
        ManifestProviderElsewhere "manifest_provider_elsewhere" "CETP2-2.1-08"
            "No ContentProvider of the package has the authority.";
        NegotiateWithoutName "negotiate_without_name" "CETP2-2.2-04"
            "A negotiate reply has no provider_name.";
        NegotiateWithoutLimits "negotiate_without_limits" "CETP2-2.2-04"
            "A negotiate reply has no limits.";
        NegotiateDataIsBundle "negotiate_data_is_bundle" "CETP2-2.2-04"
            "data of a negotiate reply is a Bundle.";
        LimitsAsText "limits_as_text" "CETP2-2.2-04"
            "The limits are texts.";
        ExpiresAtWithoutZone "expires_at_without_zone" "CETP2-2.2-04"
            "expires_at is a local time without a zone.";
        ExpiresAtIsNumber "expires_at_is_number" "CETP2-2.2-04"
            "expires_at is a number of milliseconds.";
        ExpiresAtIsNow "expires_at_is_now" "CETP2-2.2-04"
            "expires_at is the time of the negotiation.";
        FirstVersionOnly "negotiate_reads_first_version_only" "CETP2-2.2-05"
            "Only the first version of the offer is looked at.";
        FirstSupportedWins "negotiate_takes_first_supported" "CETP2-2.2-05"
            "The first supported version of the list is selected, whatever follows.";
        CapabilitiesBySubstring "capabilities_by_substring" "CETP2-2.2-06"
            "A capability is granted where its name occurs in the text of the offer.";
        CapabilitiesWithoutCase "capabilities_without_case" "CETP2-2.2-06"
            "Capability names are compared without case.";
        CapabilitiesTrimmed "capabilities_trimmed" "CETP2-2.2-06"
            "Space around capability names is taken off.";
        CancellationWithAsync "cancellation_with_async" "CETP2-2.2-06"
            "Who offers async_operations is granted cancellation as well.";
        TokenTooLong "session_token_too_long" "CETP2-2.2-07"
            "Session tokens have 300 characters.";
        TokenOf32Bits "session_token_of_32_bits" "CETP2-2.2-07"
            "Eight digits of a session token vary.";
        TokenIsTime "session_token_is_time" "CETP2-2.2-07"
            "Session tokens are made of UID, time and a counter.";
        TokenSeeded "session_token_seeded" "CETP2-2.2-07"
            "Session tokens come from a generator that starts alike with each process.";
        TokenOfOffer "session_token_of_offer" "CETP2-2.2-07"
            "Session tokens are a digest of what was offered.";
        SessionUidForWritesOnly "session_uid_for_writes_only" "CETP2-2.2-08"
            "The UID of a session is compared only where a tool with side effects is executed.";
        SessionOfAnyKnownUid "session_of_any_known_uid" "CETP2-2.2-08"
            "Who has a session of its own may use any.";
        SessionUidLostInRestart "session_uid_lost_in_restart" "CETP2-2.2-08"
            "Sessions are kept over a restart without their UID.";
        CapabilitiesOfUid "capabilities_of_uid" "CETP2-2.2-09"
            "A session can do what any session of its UID can.";
        SessionVersionUnchecked "session_version_unchecked" "CETP2-2.2-09"
            "A session that was negotiated for version 1 is good for version 2.";
        SessionCapabilitiesLostInRestart "session_capabilities_lost_in_restart" "CETP2-2.2-09"
            "Sessions are kept over a restart and can then do everything.";
        SessionProlonged "session_prolonged_by_use" "CETP2-2.2-10"
            "Every use gives a session its whole time again.";
        SessionEndForWritesOnly "session_end_for_writes_only" "CETP2-2.2-10"
            "The end of a session is looked at only where a tool with side effects is executed.";
        SessionEndLostInRestart "session_end_lost_in_restart" "CETP2-2.2-10"
            "Sessions are kept over a restart without their end.";
        TokenMissingIsInvalid "token_missing_is_invalid" "CETP2-2.2-11"
            "A missing session_token is INVALID_REQUEST.";
        TokenMissingTakesOwn "token_missing_takes_own" "CETP2-2.2-11"
            "Without session_token the caller's latest session is used.";
        TokenByPrefix "token_by_prefix" "CETP2-2.2-11"
            "A session is found by the beginning of its token.";
        TokenTailIgnored "token_tail_ignored" "CETP2-2.2-11"
            "What follows a session token is ignored.";
        TokenByLike "token_by_like" "CETP2-2.2-11"
            "Session tokens are looked up with LIKE.";
        TokenFromList "token_from_list" "CETP2-2.2-11"
            "A session_token that is a list is read by its first element.";
        TokenTrimmed "token_trimmed" "CETP2-2.2-11"
            "Space around a session token is taken off.";
        UnknownTokenFails "unknown_token_fails" "CETP2-2.2-11"
            "An unknown session token is INTERNAL_ERROR.";
        RestartTokenInvalid "restart_token_invalid" "CETP2-2.2-12"
            "After a restart an old token is INVALID_REQUEST.";
        RestartTokenRunsUnanswered "restart_token_runs_unanswered" "CETP2-2.2-12"
            "After a restart the first write with an old token is executed and answered NEGOTIATION_REQUIRED.";
        NoCommonVersionFallsBack "no_common_version_falls_back" "CETP2-2.2-13"
            "Without a common version the provider's own is selected.";
        VersionsAsBytes "versions_as_bytes" "CETP2-2.2-13"
            "Offered versions are cut to a byte.";
        VersionsByDigit "versions_by_digit" "CETP2-2.2-13"
            "Version 2 counts as offered where a 2 occurs in the list.";
        UnsupportedVersionWithSession "unsupported_version_with_session" "CETP2-2.2-13"
            "UNSUPPORTED_VERSION comes with a session token.";
        UnsupportedVersionIsInvalid "unsupported_version_is_invalid" "CETP2-2.2-13"
            "Without a common version the answer is INVALID_REQUEST.";
        LimitRequestTooLow "limit_request_too_low" "CETP2-2.2-14"
            "max_request_bytes is 64,000.";
        LimitInlineTooLow "limit_inline_too_low" "CETP2-2.2-14"
            "max_inline_result_bytes is 262,143.";
        LimitConcurrentZero "limit_concurrent_zero" "CETP2-2.2-14"
            "max_concurrent_requests is 0.";
        LimitWindowTooShort "limit_window_too_short" "CETP2-2.2-14"
            "idempotency_window_seconds is 86,399.";
        VersionsFromList "versions_from_list" "CETP2-2.2-17"
            "consumer_versions may be an ArrayList.";
        VersionsMissingAre2 "versions_missing_are_2" "CETP2-2.2-17"
            "Without consumer_versions the offer is read as 2.";
        VersionsMistypedThrow "versions_mistyped_throw" "CETP2-2.2-17"
            "A mistyped consumer_versions is INTERNAL_ERROR.";
        CapabilitiesUnparsableAreNone "capabilities_unparsable_are_none" "CETP2-2.2-17"
            "consumer_capabilities that is no JSON array counts as an empty one.";
        CapabilitiesFromArray "capabilities_from_array" "CETP2-2.2-17"
            "consumer_capabilities may be a String[].";
        CapabilitiesMissingAreAll "capabilities_missing_are_all" "CETP2-2.2-17"
            "Without consumer_capabilities everything is granted.";
        UnknownCapabilityRefused "unknown_capability_refused" "CETP2-2.2-18"
            "An unknown capability name fails the negotiation.";
        UnknownCapabilityGranted "unknown_capability_granted" "CETP2-2.2-18"
            "An unknown capability name comes back in the reply.";
        UnknownCapabilityEndsOffer "unknown_capability_ends_offer" "CETP2-2.2-18"
            "What follows an unknown capability name is not read.";
        CapabilitiesOfLatest "capabilities_of_latest" "CETP2-2.2-19"
            "The latest negotiation of a UID decides what its earlier sessions can do.";
        EarlierSessionInvalid "earlier_session_invalid" "CETP2-2.2-19"
            "After another negotiation the earlier token is INVALID_REQUEST.";
        CapabilityErrorIsInvalid "capability_error_is_invalid" "CETP2-2.3-02"
            "What was not negotiated is INVALID_REQUEST.";
        CancelUnchecked "cancel_unchecked" "CETP2-2.3-02"
            "cancel_operation works without cancellation.";
        CancelsThenRefuses "cancels_then_refuses" "CETP2-2.3-02"
            "cancel_operation without cancellation is refused and cancels all the same.";
        HeldJobAcceptedUnasked "held_job_accepted_unasked" "CETP2-2.3-04"
            "Work that takes long is accepted as an operation in every session.";
        ProviderIdOfCaller "provider_id_of_caller" "CETP2-3.1-01"
            "provider_id has the caller's UID in it.";
        ProviderIdElsewhere "provider_id_elsewhere" "CETP2-3.1-01"
            "provider_id lies outside the package.";
        ProviderIdWithoutDot "provider_id_without_dot" "CETP2-3.1-01"
            "provider_id begins with the package name and goes on without a dot.";
        ProviderIdOfProcess "provider_id_of_process" "CETP2-3.1-01"
            "provider_id is another after each restart.";
        ToolNameInUppercase "tool_name_in_uppercase" "CETP2-3.1-02"
            "A tool name has capital letters.";
        ToolNameOf65 "tool_name_of_65" "CETP2-3.1-02"
            "A tool name has 65 characters.";
        ToolNameEndsInNewline "tool_name_ends_in_newline" "CETP2-3.1-02"
            "A tool name ends in a line break.";
        ToolNameTwice "tool_name_twice" "CETP2-3.1-02"
            "Two tools have the same name.";
        ToolNameOfSession "tool_name_of_session" "CETP2-3.1-02"
            "A tool has another name in each session.";
        ToolNameOfProcess "tool_name_of_process" "CETP2-3.1-02"
            "A tool has another name after each restart.";
        InfoWithoutDescription "info_without_description" "CETP2-3.2-01"
            "get_provider_info has no description.";
        ScopeWithoutSensitivity "scope_without_sensitivity" "CETP2-3.2-01"
            "The last scope has no sensitivity.";
        ScopesAreNames "scopes_are_names" "CETP2-3.2-01"
            "The scope catalogue is a list of names.";
        InfoIdIsAuthority "info_id_is_authority" "CETP2-3.2-02"
            "provider_id in get_provider_info is the authority.";
        ScopeNameInUppercase "scope_name_in_uppercase" "CETP2-3.2-03"
            "A scope name has capital letters.";
        ScopeNameOf129 "scope_name_of_129" "CETP2-3.2-03"
            "A scope name has 129 characters.";
        ScopeNameOfProcess "scope_name_of_process" "CETP2-3.2-03"
            "A scope has another name after each restart.";
        ScopeNameOfSession "scope_name_of_session" "CETP2-3.2-03"
            "A scope has another name in each session.";
        ScopeAccessAdmin "scope_access_admin" "CETP2-3.2-04"
            "The access of a scope is admin.";
        ScopeSensitivityLow "scope_sensitivity_low" "CETP2-3.2-04"
            "The sensitivity of a scope is low.";
        SchemaOfDraft4 "schema_of_draft_4" "CETP2-3.2-05"
            "An input_schema has exclusiveMinimum true.";
        SchemaIsText "schema_is_text" "CETP2-3.2-05"
            "Schemas are texts of JSON.";
        SchemaTypeUnknown "schema_type_unknown" "CETP2-3.2-05"
            "The output_schema of the last tool has a type that is none.";
        SchemaOfTuples "schema_of_tuples" "CETP2-3.2-05"
            "A schema has a list under items, as before draft 2020-12.";
        DialectOfDraft4 "dialect_of_draft_4" "CETP2-3.2-05"
            "schema_dialect is draft 4, and a schema has the exclusiveMinimum of later ones.";
        SchemaRefersToFile "schema_refers_to_file" "CETP2-3.2-06"
            "An input_schema has a relative $ref deep inside.";
        SchemaRefersToNothing "schema_refers_to_nothing" "CETP2-3.2-06"
            "A $ref leads to a definition that is not there.";
        SchemaDynamicRefOutside "schema_dynamic_ref_outside" "CETP2-3.2-06"
            "A $dynamicRef leads to a network resource.";
        ListWithoutRevision "list_without_revision" "CETP2-3.3-01"
            "list_tools has no revision.";
        ToolWithoutOutputSchema "tool_without_output_schema" "CETP2-3.3-01"
            "The last tool has no output_schema.";
        ToolInCamelCase "tool_in_camel_case" "CETP2-3.3-01"
            "Schemas are under inputSchema and outputSchema.";
        ToolsByName "tools_by_name" "CETP2-3.3-01"
            "tools is an object from name to tool.";
        ToolScopesAsText "tool_scopes_as_text" "CETP2-3.3-01"
            "scopes of a tool is a text.";
        RevisionOfNames "revision_of_names" "CETP2-3.3-02"
            "revision is a digest of the tool names.";
        RevisionWithoutAnnotations "revision_without_annotations" "CETP2-3.3-02"
            "revision is a digest of names and schemas.";
        RevisionCountsFromStart "revision_counts_from_start" "CETP2-3.3-02"
            "revision counts the changes since the process started.";
        RevisionOfMoment "revision_of_moment" "CETP2-3.3-03"
            "revision is another in every list.";
        RevisionOfProcess "revision_of_process" "CETP2-3.3-03"
            "revision is another after each restart.";
        ScopeNotInCatalogue "scope_not_in_catalogue" "CETP2-3.3-05"
            "A scope that a tool names is not in the scope catalogue.";
        EffectWrite "annotation_effect_write" "CETP2-3.4-01"
            "The effect of a tool is write.";
        RiskMedium "annotation_risk_medium" "CETP2-3.4-01"
            "The risk of a tool is medium.";
        FlagsAsText "annotation_flags_as_text" "CETP2-3.4-01"
            "destructive, idempotent and open_world of the last tool are texts.";
        ConfirmationUser "annotation_confirmation_user" "CETP2-3.4-01"
            "The confirmation of a tool is user.";
        ExecutionAsync "annotation_execution_async" "CETP2-3.4-01"
            "The execution of a tool is async.";
        DestructiveByPolicy "destructive_by_policy" "CETP2-3.4-03"
            "A tool with destructive=true is confirmed by the provider's policy.";
        DeleteByPolicy "delete_by_policy" "CETP2-3.4-03"
            "A tool with effect=delete is confirmed by the provider's policy.";
        TransactionByPolicy "transaction_by_policy" "CETP2-3.4-03"
            "A tool with effect=transaction is confirmed by the provider's policy.";
        HighRiskByPolicy "high_risk_by_policy" "CETP2-3.4-03"
            "A tool with risk=high is confirmed by the provider's policy.";
        RaisedRiskByPolicy "raised_risk_by_policy" "CETP2-3.4-03"
            "A tool whose risk was raised to high is still confirmed by the provider's policy.";
        UnknownMethodInvalid "unknown_method_invalid" "CETP2-4-01"
            "An unknown method is INVALID_REQUEST.";
        UnknownMethodNull "unknown_method_null" "CETP2-4-01"
            "An unknown method is answered with null, as ContentProvider.call does of itself.";
        MethodsWithoutCase "methods_without_case" "CETP2-4-01"
            "Methods are compared without case.";
        MethodsTrimmed "methods_trimmed" "CETP2-4-01"
            "Space around a method is taken off.";
        MethodsByPrefix "methods_by_prefix" "CETP2-4-01"
            "A method is recognised by its beginning.";
        V1InV2Envelope "v1_in_v2_envelope" "CETP2-4-02"
            "A v1 success has the result envelope of v2.";
        V1NeedsRequestId "v1_needs_request_id" "CETP2-4-02"
            "A v1 execute_tool needs a request_id.";
        V1NeedsExtras "v1_needs_extras" "CETP2-4-02"
            "A v1 call without extras throws.";
        V1ListsInputSchema "v1_lists_input_schema" "CETP2-4-02"
            "The v1 list has input_schema in the place of parameters.";
        V1ErrorsWithoutMessage "v1_errors_without_message" "CETP2-4-02"
            "A v1 error has no error_message.";
        V1ReadByToken "v1_read_by_token" "CETP2-4-02"
            "A call without protocol_version that has a session_token is read as v2.";
        VersionMissingIs2 "version_missing_is_2" "CETP2-4-03"
            "A call without protocol_version is read as v2.";
        V2OnlySpeaksV1 "v2_only_speaks_v1" "CETP2-4-03"
            "A v2-only provider answers v1 calls.";
        VersionAsByte "version_as_byte" "CETP2-4-04"
            "protocol_version is cut to a byte.";
        VersionOfAnyType "version_of_any_type" "CETP2-4-04"
            "protocol_version may be a Long, a Short, a Double or a text.";
        VersionAtLeast2 "version_at_least_2" "CETP2-4-04"
            "protocol_version above 2 is read as 2.";
        RequestIdUnchecked "request_id_unchecked" "CETP2-4.1-02"
            "request_id may be any text.";
        RequestIdMadeUp "request_id_made_up" "CETP2-4.1-02"
            "Without request_id one is made up.";
        RequestIdMistypedMadeUp "request_id_mistyped_made_up" "CETP2-4.1-02"
            "For a mistyped request_id one is made up.";
        RequestIdByLength "request_id_by_length" "CETP2-4.1-02"
            "A request_id of 36 characters counts as a UUID.";
        RequestIdVersion4Only "request_id_version_4_only" "CETP2-4.1-02"
            "Only UUIDs of version 4 are taken.";
        RequestIdLowerCaseOnly "request_id_lower_case_only" "CETP2-4.1-02"
            "Only UUIDs in lower case are taken.";
        DeadlineMissingIsNever "deadline_missing_is_never" "CETP2-4.1-03"
            "Without deadline_at_ms there is no deadline.";
        DeadlineOfAnyNumber "deadline_of_any_number" "CETP2-4.1-03"
            "deadline_at_ms may be an Int or a Double.";
        DeadlineAsText "deadline_as_text" "CETP2-4.1-03"
            "deadline_at_ms may be a text of digits.";
        SizeInUnits "size_in_units" "CETP2-4.1-04"
            "The length of args is counted in UTF-16 units.";
        SizeLimitExcluded "size_limit_excluded" "CETP2-4.1-04"
            "args of exactly the limit are refused.";
        SizeOfMeaning "size_of_meaning" "CETP2-4.1-04"
            "The length of args is that of the JSON written compactly.";
        SizeOfParcel "size_of_parcel" "CETP2-4.1-04"
            "The length of args is reckoned as it is in a Parcel, two bytes a unit.";
        SizeUnchecked "size_unchecked" "CETP2-4.1-04"
            "The length of args is not looked at.";
        SizeAfterEffect "size_after_effect" "CETP2-4.1-04"
            "The length of args is looked at when the tool has run.";
        ToolNameFromList "tool_name_from_list" "CETP2-4.1-06"
            "A tool_name that is a list is read by its first element.";
        ToolNameMissingThrows "tool_name_missing_throws" "CETP2-4.1-06"
            "Without tool_name the answer is INTERNAL_ERROR.";
        ArgsFromBundle "args_from_bundle" "CETP2-4.1-13"
            "args may be a Bundle.";
        ArgsFromBytes "args_from_bytes" "CETP2-4.1-13"
            "args may be bytes.";
        ArgsMissingThrows "args_missing_throws" "CETP2-4.1-13"
            "Without args the answer is INTERNAL_ERROR.";
        SuccessWithoutVersion "success_without_version" "CETP2-4.2-01"
            "A success has no protocol_version.";
        SuccessVersionIsLong "success_version_is_long" "CETP2-4.2-01"
            "protocol_version of a success is a Long.";
        EchoInLowerCase "echo_in_lower_case" "CETP2-4.2-01"
            "request_id comes back in lower case.";
        EchoMissing "echo_missing" "CETP2-4.2-01"
            "A success has no request_id.";
        EchoOfFirst "echo_of_first" "CETP2-4.2-01"
            "request_id is that of the session's first execution.";
        EchoOfLatest "echo_of_latest" "CETP2-4.2-01"
            "request_id is that of the request that came last.";
        DataIsBareValue "data_is_bare_value" "CETP2-4.2-01"
            "data is the value without its envelope.";
        KindMissing "kind_missing" "CETP2-4.2-01"
            "data has no kind.";
        ValueIsText "value_is_text" "CETP2-4.2-01"
            "value is a text of JSON.";
        DataIsBundle "data_is_bundle" "CETP2-4.2-01"
            "data of a success is a Bundle.";
        UnknownKeysRefused "unknown_keys_refused" "CETP2-4.2-01"
            "A request with a key that it does not have is INVALID_REQUEST.";
        V1ListsIdempotentWrites "v1_lists_idempotent_writes" "CETP2-2.1-04"
            "The v1 list_tools shows writes with idempotent=true.";
        V1ListsByRisk "v1_lists_by_risk" "CETP2-2.1-04"
            "The v1 list_tools shows all that is not high-risk.";
        V1RunsIdempotentWrites "v1_runs_idempotent_writes" "CETP2-8-03"
            "The v1 execute_tool runs writes with idempotent=true.";
        V1RunsHidden "v1_runs_hidden" "CETP2-8-03"
            "The v1 execute_tool runs a hidden tool.";
        V1RunsInSession "v1_runs_in_session" "CETP2-8-03"
            "The v1 execute_tool runs writes where the call has a session_token.";
        V1RefusesTooLate "v1_refuses_too_late" "CETP2-8-03"
            "The v1 execute_tool refuses a write when it has run.";
        V1ScopesUnchecked "v1_scopes_unchecked" "CETP2-8-03"
            "The v1 execute_tool does not look at scopes.";
        // Deduplication, crashes and deadlines (§4.1, §4.4, §6).
        SecretWrites "secret_writes" "CETP2-3.4-02"
            "fixture_secret writes an entry into the ledger.";
        DeadlineAfterEffect "deadline_after_effect" "CETP2-4.1-10"
            "The deadline is checked when the effect is there.";
        DeadlineInSeconds "deadline_in_seconds" "CETP2-4.1-10"
            "Deadline and clock are compared in whole seconds.";
        DeadlineNotOnResume "deadline_not_on_resume" "CETP2-4.1-10"
            "The deadline of a call that comes back from the user is not checked.";
        DeadlineOverflows "deadline_overflows" "CETP2-4.1-10"
            "The time that is left is computed in 64 bits that wrap.";
        LateRepeatRuns "late_repeat_runs" "CETP2-4.1-12"
            "A repeat whose deadline has passed executes again.";
        LateRepeatForgets "late_repeat_forgets" "CETP2-4.1-12"
            "A repeat whose deadline has passed removes the record.";
        ResultsInMemory "results_in_memory" "CETP2-4.4-10"
            "Of what has ended only the reservation is durable: a repeat after a restart executes again.";
        DenialsInMemory "denials_in_memory" "CETP2-4.4-10"
            "What the user denied is forgotten when the process ends.";
        OnlyCreatesDeduplicated "only_creates_deduplicated" "CETP2-6-01"
            "A repeat of what updates executes again.";
        FewRecordsKept "few_records_kept" "CETP2-6-01"
            "Of each caller the last 100 records are kept.";
        ForeignIdRefused "id_of_another_uid_refused" "CETP2-6-02"
            "A request_id that another UID has used is INVALID_REQUEST.";
        KeyHoldsTool "key_holds_tool" "CETP2-6-03"
            "The same request_id with another tool is another execution.";
        KeyHoldsArgs "key_holds_args" "CETP2-6-03"
            "The same request_id with other args is another execution.";
        ArgsBoundByLength "args_bound_by_length" "CETP2-6-03"
            "Of the args only the length is compared.";
        BindingInMemory "binding_in_memory" "CETP2-6-03"
            "After a restart a record answers for any tool and any args.";
        RepeatIsConflict "repeat_is_conflict" "CETP2-6-04"
            "A repeat of what has ended is CONFLICT instead of the result.";
        RepeatComputesAnew "repeat_computes_anew" "CETP2-6-04"
            "A repeat gives the result that an execution would have now, without executing.";
        WindowShort "window_short" "CETP2-6-05"
            "A record is kept a minute less than the window.";
        WindowEndsAtMidnight "window_ends_at_midnight" "CETP2-6-05"
            "A record is kept to the end of the day (UTC).";
        DenialsKeptAnHour "denials_kept_an_hour" "CETP2-6-05"
            "A terminal error is kept for an hour.";
        InFlightPerSession "in_flight_per_session" "CETP2-6-06"
            "Identical requests that overlap are noticed within one session only.";
        DuplicateIsConflict "duplicate_in_flight_is_conflict" "CETP2-6-06"
            "A duplicate of what is being executed is CONFLICT.";
        NegotiationForgets "negotiation_forgets" "CETP2-6-09"
            "negotiate removes the caller's records.";
        ResultLostInCrash "result_lost_in_crash" "CETP2-6-10"
            "What had ended when the process died is INTERNAL_ERROR afterwards.";
        AbandonedRunsEachTime "abandoned_runs_each_time" "CETP2-6-11"
            "A reservation of a process that died is executed by every retry.";
        AbandonedRunsTwice "abandoned_runs_twice" "CETP2-6-11"
            "A reservation of a process that died is executed by the restart and by the retry.";
        AbandonedCountsAsDone "abandoned_counts_as_done" "CETP2-6-11"
            "A reservation of a process that died is answered with success and never executed.";
        SurplusConflict "surplus_is_conflict" "CETP2-6-12"
            "Above max_concurrent_requests the answer is CONFLICT.";

        // Confirmation and resume tokens (§3.4, §4.3, §7.2).
        AskedOnce "asked_once" "CETP2-3.4-06"
            "After one confirmed call of a tool its caller is not asked again.";
        ApprovalServesEqualCalls "approval_serves_equal_calls" "CETP2-3.4-06"
            "An approval lets any call of its caller with the same tool and args execute.";
        HiddenRuns "hidden_runs" "CETP2-3.4-06"
            "A hidden tool can be executed by its name.";
        OnlyDestructiveAsks "only_destructive_asks" "CETP2-3.4-06"
            "Whether the user is asked follows from destructive, not from confirmation.";
        EscalationOffByOne "escalation_off_by_one" "CETP2-3.4-07"
            "An amount of one above the limit does not lead to a confirmation.";
        EscalationIn32Bits "escalation_in_32_bits" "CETP2-3.4-07"
            "The amount is compared with the limit after a conversion to 32 bits.";
        AuthorizationUnresolved "authorization_unresolved" "CETP2-4.3-01"
            "AUTH_REQUIRED has no resolution and no resume_token.";
        ConfirmationWithoutToken "confirmation_without_token" "CETP2-4.3-01"
            "USER_ACTION_REQUIRED has no resume_token.";
        ResolutionIsText "resolution_is_text" "CETP2-4.3-01"
            "resolution is an action string.";
        IntentMutable "intent_mutable" "CETP2-4.3-02"
            "The PendingIntent is mutable.";
        IntentImplicit "intent_implicit" "CETP2-4.3-02"
            "The PendingIntent names an action and no component.";
        IntentElsewhere "intent_elsewhere" "CETP2-4.3-02"
            "The PendingIntent names a component of another package.";
        IntentOfOther "intent_of_other" "CETP2-4.3-02"
            "The PendingIntent was created by another package.";
        TokenOfAnyCaller "token_of_any_caller" "CETP2-4.3-03"
            "A resume token is not bound to the caller.";
        TokenForAnyTool "token_for_any_tool" "CETP2-4.3-04"
            "The args of a resume token are compared only where the tool is the same.";
        TokenForEqualJson "token_for_equal_json" "CETP2-4.3-05"
            "A resume token is bound to what args mean, not to their bytes.";
        TokenForTrimmedArgs "token_for_trimmed_args" "CETP2-4.3-05"
            "A resume token is bound to the args without white space around them.";
        TokenForAnyRequest "token_for_any_request" "CETP2-4.3-06"
            "A resume token is not bound to the request_id.";
        TokenNeverExpires "token_never_expires" "CETP2-4.3-07"
            "An approved resume token works past its validity.";
        TokenExpiresLate "token_expires_late" "CETP2-4.3-07"
            "A resume token works a minute longer than it is valid.";
        ResumedRunsAgain "resumed_runs_again" "CETP2-4.3-08"
            "A repeat that comes with the used resume token executes again.";
        EffectBeforeApproval "effect_before_approval" "CETP2-4.3-09"
            "The effect is there when the user is asked.";
        EarlyResumeRuns "early_resume_runs" "CETP2-4.3-09"
            "Coming back with the token before the user has decided executes.";
        ConfirmedExtraBelieved "confirmed_extra_believed" "CETP2-4.3-10"
            "An extra confirmed=true stands in for the user.";
        ActivityStays "activity_stays" "CETP2-4.3-11"
            "The confirmation stays on the screen after the decision.";
        DenialAskedAnew "denial_asked_anew" "CETP2-4.3-13"
            "A denied call that is repeated asks again, and can be approved then.";
        DismissApproves "dismiss_approves" "CETP2-4.3-13"
            "Leaving the confirmation approves the call.";
        DenialIsPermissionDenied "denial_is_permission_denied" "CETP2-4.3-13"
            "A denial is answered with PERMISSION_DENIED.";
        AuthorizeIntentSent "authorize_intent_sent" "CETP2-4.3-14"
            "AUTH_REQUIRED carries authorize_intent as in v1.";
        AnyTokenOfApprovedCall "any_token_of_approved_call" "CETP2-4.3-17"
            "Once the user has approved a call, any resume token executes it.";
        ResumeTokenByPrefix "resume_token_by_prefix" "CETP2-4.3-17"
            "The beginning of a resume token suffices.";
        TokenByItsBeginning "token_by_its_beginning" "CETP2-4.3-17"
            "A resume token works with more characters after it.";
        EmptyTokenConfirms "empty_token_confirms" "CETP2-4.3-17"
            "A call with an empty resume token is not confirmed.";
        QuestionWithoutAmount "question_without_amount" "CETP2-7.2-03"
            "The confirmation does not show the amount.";
        QuestionOfTheFirst "question_of_the_first" "CETP2-7.2-03"
            "The confirmation shows the caller's first question, whichever it is for.";

        // Errors, arguments and outputs (§4.2, §5, §7.3).
        BadOutputNulled "bad_output_nulled" "CETP2-4.2-02"
            "A value that breaks output_schema is returned as null.";
        ErrorEchoMissing "echo_missing_in_errors" "CETP2-5-01"
            "Error Bundles have no request_id.";
        EchoOfUuidsOnly "echo_of_uuids_only" "CETP2-5-01"
            "A request_id that is no UUID is not echoed.";
        ErrorEchoInLowerCase "echo_in_lower_case_in_errors" "CETP2-5-01"
            "The request_id is echoed in lower case.";
        VersionMissing "version_missing_in_errors" "CETP2-5-01"
            "Error Bundles have no protocol_version.";
        MessageMissing "message_missing" "CETP2-5-01"
            "Error Bundles have no error_message.";
        RetryableIsText "retryable_is_text" "CETP2-5-01"
            "retryable is a String.";
        RetryAfterNegative "retry_after_negative" "CETP2-5-02"
            "retry_after_ms is -1.";
        DetailsAreNoJson "details_are_no_json" "CETP2-5-02"
            "error_details is a sentence.";
        DetailsAreBundle "details_are_bundle" "CETP2-5-02"
            "error_details is a Bundle.";
        UnknownCode "unknown_code" "CETP2-5-03"
            "A busy tool is TOO_MANY_REQUESTS.";
        CodesInLowerCase "codes_in_lower_case" "CETP2-5-03"
            "error_code is written in lower case.";
        BusyNotRetryable "busy_not_retryable" "CETP2-5-04"
            "RATE_LIMITED is not retryable.";
        NegotiationNotRetryable "negotiation_not_retryable" "CETP2-5-04"
            "NEGOTIATION_REQUIRED is not retryable.";
        ArgsRetryable "args_retryable" "CETP2-5-04"
            "INVALID_ARGS is retryable.";
        CancelledRetryable "cancelled_retryable" "CETP2-5-04"
            "USER_CANCELLED is retryable.";
        ExceptionInDetails "exception_in_details" "CETP2-5-05"
            "error_details holds what the exception said.";
        ExceptionInOtherKey "exception_in_other_key" "CETP2-5-05"
            "A key of its own holds what the exception said.";
        ExceptionInBase64 "exception_in_base64" "CETP2-5-05"
            "error_message holds what the exception said in base64.";
        ParserTraceTold "parser_trace_told" "CETP2-5-05"
            "The error about malformed args holds a frame of the parser.";
        TrailingTextIgnored "trailing_text_ignored" "CETP2-5-10"
            "Of args the first JSON value is read, whatever comes after it.";
        SingleQuotesRead "single_quotes_read" "CETP2-5-10"
            "Args may have single quotes.";
        InputUnchecked "input_unchecked" "CETP2-5-10"
            "Args are not checked against input_schema.";
        OtherMembersDropped "other_members_dropped" "CETP2-5-10"
            "Members that the closed schema does not know are dropped.";
        NumbersFromText "numbers_from_text" "CETP2-5-10"
            "A text that looks like a number is taken for one.";
        InputCheckedAfterEffect "input_checked_after_effect" "CETP2-5-10"
            "Args are checked against input_schema when the effect is there.";
        HiddenArgsChecked "hidden_args_checked" "CETP2-5-11"
            "The args of a hidden tool are checked before it is not found.";
        UnknownToolInternal "unknown_tool_internal" "CETP2-5-11"
            "A tool that does not exist is INTERNAL_ERROR.";
        NamesTrimmed "names_trimmed" "CETP2-5-11"
            "A tool is found with white space around its name.";
        NamesWithoutCase "names_without_case" "CETP2-5-11"
            "A tool is found whatever the case of its name.";
        ExceptionGivesNull "exception_gives_null" "CETP2-5-13"
            "Where a tool throws the call returns null.";
        ExceptionGivesSuccess "exception_gives_success" "CETP2-5-13"
            "Where a tool throws the call is an empty success.";
        ExceptionKills "exception_kills" "CETP2-5-13"
            "A tool's exception ends the process.";
        RuleOnRawText "rule_on_raw_text" "CETP2-7.3-04"
            "The business rule looks at the text of args, not at what it means.";
        RuleAfterEffect "rule_after_effect" "CETP2-7.3-04"
            "The business rule is checked when the effect is there.";
        // For vectors that no other fault needed.
        FailedNegotiationSpoils "failed_negotiation_spoils" "CETP2-2.2-19"
            "A negotiation that fails makes the caller's earlier tokens INVALID_REQUEST.";
        OfferWithMoreRefused "offer_with_more_refused" "CETP2-2.2-05"
            "negotiate with a key that is not known is INVALID_REQUEST.";
        OfferOf1GetsVersion2 "offer_of_1_gets_version_2" "CETP2-2.2-05"
            "A consumer of version 1 alone gets version 2.";
        MethodWithoutCapabilityIsEmpty "method_without_capability_is_empty" "CETP2-2.3-02"
            "A method whose capability was not negotiated is an empty success.";
        FullSessionsTrusted "full_sessions_trusted" "CETP2-3.4-06"
            "In a session with every capability no call is confirmed.";
        TrustOfOthers "trust_of_others" "CETP2-3.4-06"
            "Once a call of a tool was approved, other callers are not asked any more.";
        ApprovalOfAll "approval_of_all_that_waits" "CETP2-3.4-06"
            "Approving one call approves all that wait for the same caller.";
        TrustAfterFive "trust_after_five_approvals" "CETP2-3.4-06"
            "Who was approved five times is not asked any more.";
        OperationIdNotNeeded "operation_id_not_needed" "CETP2-4.1-08"
            "Without an operation_id the operation of the request_id is taken.";
        ResultGainsMember "result_gains_a_member" "CETP2-4.2-02"
            "A member is added to a value after it was validated.";
        ConfirmedBelievedOnResume "confirmed_believed_on_resume" "CETP2-4.3-10"
            "An extra confirmed=true stands in for the user where a resume token comes with it.";
        TokenPassesForScope "token_passes_for_a_scope" "CETP2-4.3-17"
            "Any resume token passes for the scope that a read lacks.";
        MistypedTokenConfirms "mistyped_token_confirms" "CETP2-4.3-17"
            "A resume token of another type stands in for the user.";
        AuthorizationOfBearer "authorization_of_the_bearer" "CETP2-4.3-03"
            "The resume token of an authorization serves whoever presents it.";
        TokenOfCallerOnly "token_of_caller_only" "CETP2-4.3-04"
            "A resume token is bound to its caller and to nothing else.";
        UsedTokenGrantsAgain "used_token_grants_again" "CETP2-4.3-08"
            "The used resume token of an authorization grants its scopes again.";
        SecondCancelFails "second_cancel_fails" "CETP2-4.4-13"
            "Cancelling a cancelled operation makes it failed.";
        EndedCancelSaysCancelled "ended_cancel_says_cancelled" "CETP2-4.4-06"
            "Cancelling an operation that has ended says that it is cancelled.";
        RestartApproves "restart_approves" "CETP2-4.4-10"
            "What waits for the user counts as approved after a restart.";
        SucceededBecomesCancelled "succeeded_becomes_cancelled" "CETP2-4.4-12"
            "An operation that has succeeded becomes cancelled.";
        RepeatResetsOperation "repeat_resets_the_operation" "CETP2-4.4-13"
            "Repeating an execution sets its operation that has ended running again.";
        ExactLimitIsInternalError "exact_limit_is_internal_error" "CETP2-4.5-01"
            "A value that just fits, with an envelope that does not, is INTERNAL_ERROR.";
        LargestIsInternalError "largest_is_internal_error" "CETP2-4.5-14"
            "A file of more than 12 MiB is INTERNAL_ERROR.";
        OperationResultsStaySmall "operation_results_stay_small" "CETP2-4.5-13"
            "A result of an operation of more than 64 KiB is RESULT_TOO_LARGE where it cannot be a file.";
        FileByCharacters "file_by_characters" "CETP2-4.5-14"
            "Whether a result is large enough for a file is counted in characters; what is in between is RESULT_TOO_LARGE.";
        TraceOfMistypedKeys "trace_of_mistyped_keys" "CETP2-5-05"
            "INVALID_REQUEST tells where in the code it arose.";
        LeadingZerosRead "leading_zeros_read" "CETP2-5-10"
            "Numbers with leading zeros are read.";
        LastPlaceConflict "last_place_is_conflict" "CETP2-6-12"
            "One call less than max_concurrent_requests is served; the last is CONFLICT.";
        OperationLostInCrash "operation_lost_in_crash" "CETP2-6-10"
            "What an operation gave is lost when the process dies, and it has failed.";
        RecoveredRunsTwice "recovered_runs_twice" "CETP2-6-11"
            "An operation that is taken up after a restart has its effect twice.";
        RepeatedFailureIsInternal "repeated_failure_is_internal_error" "CETP2-6-04"
            "The repeat of an execution that ended with an error is INTERNAL_ERROR.";
        OtherSessionConflict "other_session_is_conflict" "CETP2-6-12"
            "While a call of another session of the caller is worked on, the answer is CONFLICT.";
        OperationsNotDeduplicated "operations_not_deduplicated" "CETP2-4.4-14"
            "Tools that run as operations are not deduplicated.";
        CallerOfArgsBelieved "caller_of_args_believed" "CETP2-7.1-01"
            "Members caller and scopes of the args are taken out of them and believed.";
        RotatedIsInternalError "rotated_is_internal_error" "CETP2-7.1-05"
            "A caller with a rotated certificate is answered INTERNAL_ERROR.";
        RestartGrantsAgain "restart_grants_again" "CETP2-7.2-02"
            "A restart brings withdrawn scopes back.";
        // Broken as a provider in another language was, without that a vector had noticed.
        TokenSkipsDeduplication "token_skips_deduplication" "CETP2-6-01"
            "A repeat of what needs no user executes again where a resume token comes with it.";
        RecordsLostAtChange "records_lost_at_a_change" "CETP2-6-01"
            "Records are forgotten when the tools change.";
        RaisedRiskForgets "raised_risk_forgets" "CETP2-6-01"
            "Records of a tool are not looked at when its risk was raised.";
        OperationsLostAtChange "operations_lost_at_a_change" "CETP2-4.4-09"
            "Operations are forgotten when the tools change.";
        RunningLostAtChange "running_lost_at_a_change" "CETP2-4.4-09"
            "Operations that have not ended are forgotten when the tools change.";
        AuthorizationConfirms "authorization_confirms" "CETP2-3.4-06"
            "Who approves a missing scope has confirmed the call that lacked it.";
        JobScopesUnchecked "job_scopes_unchecked" "CETP2-3.4-08"
            "The scopes of a tool that becomes an operation are not looked at.";
        ToolScopesShort "tool_scopes_short" "CETP2-3.4-08"
            "A tool that needs a scope lists none.";
        SessionEndNotForOperations "session_end_not_for_operations" "CETP2-2.2-10"
            "The end of a session is not looked at by get_operation and cancel_operation.";
        SessionUidNotForOperations "session_uid_not_for_operations" "CETP2-2.2-08"
            "The UID of a session is not compared by get_operation and cancel_operation.";
        OperationUidLostInRestart "operation_uid_lost_in_restart" "CETP2-4.4-08"
            "Whose an operation is is lost when the process ends.";
        RefusalNamesOwner "refusal_names_the_owner" "CETP2-4.4-08"
            "Who asks for an operation of another UID is told which.";
        ListedAsRead "write_listed_as_read" "CETP2-3.4-02"
            "A tool that writes is listed with effect=read.";
        ListedAsSync "operation_listed_as_sync" "CETP2-3.4-09"
            "A tool that becomes an operation is listed with execution=sync.";
        SecretInDetails "secret_in_details" "CETP2-5-05"
            "The refusal for a missing scope holds in its details what the scope protects.";
        FileWithItsValue "file_with_its_value" "CETP2-4.5-01"
            "data of a file result of less than 1 MiB holds the value as well.";
        TooLargeInDetails "too_large_in_details" "CETP2-4.5-01"
            "RESULT_TOO_LARGE holds a value of less than 1 MiB in its details.";
        KeyOfFirstDigits "key_of_first_digits" "CETP2-6-02"
            "The deduplication key holds the first eight digits of request_id.";
        KeyOfLastDigits "key_of_last_digits" "CETP2-6-02"
            "The deduplication key holds the last twelve digits of request_id.";
        KeyWithoutLastDigit "key_without_last_digit" "CETP2-6-02"
            "The deduplication key lacks the last digit of request_id.";
        ArgsBoundWithoutSpace "args_bound_without_space" "CETP2-6-03"
            "A record is bound to args without white space, also where that is in a text.";
        EmptyArgsAreNone "empty_args_are_none" "CETP2-5-10"
            "Args that are an empty text are read as {}.";
        BooleansFromText "booleans_from_text" "CETP2-5-10"
            "The words true and false are taken for booleans.";
        MistypedArgsAreNone "mistyped_args_are_none" "CETP2-4.1-13"
            "Args of another type than String are read as {}.";
        QuestionCutShort "question_cut_short" "CETP2-7.2-03"
            "The confirmation shows the first eight characters of a recipient.";
        SessionTokenWithoutCase "session_token_without_case" "CETP2-2.2-11"
            "Session tokens, which are letters of both cases, are compared without case.";
        ResumeTokenWithoutCase "resume_token_without_case" "CETP2-4.3-17"
            "Resume tokens, which are letters of both cases, are compared without case.";
        ResumeTokenTrimmed "resume_token_trimmed" "CETP2-4.3-17"
            "White space around a resume token is taken off.";
        DeadlineIn32Bits "deadline_in_32_bits" "CETP2-4.1-10"
            "A deadline of more than 2^31 ms ahead counts as past.";
        DeadlineInNanoseconds "deadline_in_nanoseconds" "CETP2-4.1-10"
            "Deadline and clock are compared in nanoseconds of 64 bits that wrap.";
        UnknownToolNamesHidden "unknown_tool_names_hidden" "CETP2-5-11"
            "TOOL_NOT_FOUND names the tools that there are, a hidden one among them.";
        ApprovalGrantsAll "approval_grants_all" "CETP2-7.1-04"
            "Who approves one scope grants all.";
        GrantEndLostInRestart "grant_end_lost_in_restart" "CETP2-7.1-04"
            "Grants have no end any more after a restart.";
        ManifestDeclares3 "manifest_declares_version_3" "CETP2-2.1-01"
            "A dual-stack manifest has versions=\"1,2,3\".";
        ManifestProviderNotExported "manifest_provider_not_exported" "CETP2-2.1-08"
            "The ContentProvider is not exported.";
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

        // Manifest, negotiation, descriptors, envelope, v1.
        StrictVersionList "strict_version_list" "CETP2-2.2-05"
            "An offer that is not strictly descending, or holds a number below 1, is INVALID_REQUEST.";
        LongOffersRefused "long_offers_refused" "CETP2-2.2-16"
            "An offer of more than a thousand versions or capabilities is INVALID_REQUEST.";
        SessionsWithoutEnd "sessions_without_end" "CETP2-2.2-04"
            "Sessions have no expires_at and no end.";
        NegotiateInV2Envelope "negotiate_in_v2_envelope" "CETP2-2.2-04"
            "A negotiate reply has protocol_version and echoes a request_id.";
        CancellationNeedsAsync "cancellation_needs_async" "CETP2-2.2-06"
            "cancellation is granted only together with async_operations.";
        ForeignTokenDenied "foreign_token_denied" "CETP2-2.2-08"
            "A token of another UID is PERMISSION_DENIED.";
        ForeignUseEndsSession "foreign_use_ends_session" "CETP2-2.2-08"
            "A session ends when another UID presents its token.";
        BadTokenInvalid "bad_token_invalid" "CETP2-2.2-11"
            "A session_token that was never given is INVALID_REQUEST.";
        SessionsSurviveRestart "sessions_survive_restart" "CETP2-2.2-12"
            "Sessions are kept over a restart.";
        OtherLimits "other_limits" "CETP2-2.2-14"
            "The limits are above the minimum, but for one request at a time.";
        NoVersionsUnsupported "no_versions_unsupported" "CETP2-2.2-17"
            "A missing or empty consumer_versions is UNSUPPORTED_VERSION.";
        NegotiationEndsEarlier "negotiation_ends_earlier" "CETP2-2.2-19"
            "A negotiation ends the caller's earlier sessions.";
        MethodNotFoundWithoutCapability "method_not_found_without_capability" "CETP2-2.3-02"
            "Methods of a capability that the provider never grants are METHOD_NOT_FOUND.";
        ProviderIdBelowPackage "provider_id_below_package" "CETP2-3.1-01"
            "provider_id is a name below the package.";
        ToolsInAnyOrder "tools_in_any_order" "CETP2-3.1-02"
            "list_tools and the scope catalogue are in another order in each session.";
        InfoWithoutDialect "info_without_dialect" "CETP2-3.2-01"
            "get_provider_info names no schema_dialect.";
        DialectOfDraft7 "dialect_of_draft_7" "CETP2-3.2-05"
            "schema_dialect is draft 7, of which the schemas are valid as well.";
        MoreTools "more_tools" "CETP2-3.3-01"
            "More tools are listed, with names of 1 and 64 characters, local references and members that nobody knows.";
        RevisionIsNumber "revision_is_number" "CETP2-3.3-01"
            "revision is a number.";
        JobListedAsSync "job_listed_as_sync" "CETP2-3.4-05"
            "A sync_or_async tool is listed as sync where async_operations was not negotiated.";
        SessionBeforeMethod "session_before_method" "CETP2-4-01"
            "The session is looked at before the method.";
        V1WithoutInfo "v1_without_info" "CETP2-4-02"
            "There is no v1 get_provider_info, and an unknown v1 method is METHOD_NOT_FOUND.";
        V1WithMore "v1_with_more" "CETP2-4-02"
            "v1 replies have further members: those of v2's descriptors.";
        OtherVersionInvalid "other_version_invalid" "CETP2-4-04"
            "Another protocol_version is INVALID_REQUEST.";
        MistypedVersionIsV1 "mistyped_version_is_v1" "CETP2-4-04"
            "A mistyped protocol_version at a dual-stack provider is read as v1.";
        Version1Refused "version_1_refused" "CETP2-4-04"
            "protocol_version 1 is refused at a dual-stack provider: v1 has no such field.";
        DescribingNeedsEnvelope "describing_needs_envelope" "CETP2-4.1-02"
            "list_tools and get_provider_info need request_id and deadline_at_ms.";
        BadDeadlineExceeded "bad_deadline_exceeded" "CETP2-4.1-03"
            "A missing or mistyped deadline_at_ms is DEADLINE_EXCEEDED.";
        BadToolNameNotFound "bad_tool_name_not_found" "CETP2-4.1-06"
            "A missing or mistyped tool_name is TOOL_NOT_FOUND.";
        BadArgsInvalidArgs "bad_args_invalid_args" "CETP2-4.1-13"
            "Missing args of a read are {}; mistyped args, and args that are too long, are INVALID_ARGS.";
        ManifestTexts "manifest_texts" "CETP2-2.1-01"
            "version is a String, and versions are in another order with space between.";
        ManifestHasMore "manifest_has_more" "CETP2-2.1-08"
            "The package has another exported service and another ContentProvider.";
        // Deduplication, confirmation and errors.
        SpentTokenRefused "spent_token_refused" "CETP2-4.3-08"
            "The identical call with its used resume token is INVALID_REQUEST.";
        EarlyResumeConflict "early_resume_conflict" "CETP2-4.3-09"
            "Coming back with the token before the user has decided is CONFLICT.";
        FreshQuestionEachTime "fresh_question_each_time" "CETP2-4.3-09"
            "A call that still waits and is sent again asks a new question, and the old one is over.";
        EqualJsonRepeats "equal_json_repeats" "CETP2-6-03"
            "A repeat whose args are equal JSON in other bytes gets the stored result.";
        AbandonedFails "abandoned_fails" "CETP2-6-11"
            "A reservation of a process that died ends with INTERNAL_ERROR.";
        UnheardDenialAsksAnew "unheard_denial_asks_anew" "CETP2-4.3-13"
            "A call that was denied and never resumed asks anew when it is repeated without its token.";
        ConditionalRetryable "conditional_retryable" "CETP2-5-04"
            "AUTH_REQUIRED, USER_ACTION_REQUIRED, CONFLICT and DEADLINE_EXCEEDED are retryable.";
        ErrorsWithDetails "errors_with_details" "CETP2-5-02"
            "Every error has error_details and retry_after_ms.";
        NullsInErrors "nulls_in_errors" "CETP2-5-02"
            "What an error does not have is there as null.";
        MalformedIsInvalidRequest "malformed_is_invalid_request" "CETP2-5-10"
            "Args that are no JSON are INVALID_REQUEST.";
        EscalationRefused "escalation_refused" "CETP2-3.4-07"
            "A risk above the static declaration is PERMISSION_DENIED instead of a question.";
        BadTokenConflict "bad_token_conflict" "CETP2-4.3-03"
            "A resume token that does not fit is CONFLICT.";
        BadTokenDenied "bad_token_denied" "CETP2-4.3-03"
            "A resume token that does not fit is PERMISSION_DENIED.";
        TokenBurnedByMisuse "token_burned_by_misuse" "CETP2-4.3-03"
            "A resume token that is presented for another call or by another caller is over.";
        DeadlineAfterConsent "deadline_after_consent" "CETP2-4.1-10"
            "The user is asked before the deadline is looked at.";
        MoreKeysInReplies "more_keys_in_replies" "CETP2-4.2-01"
            "Replies have a key that the specification does not know.";
        ReadsRepeated "reads_repeated" "CETP2-6-04"
            "A read that is sent again with the same request_id gets the same value.";
        ToolsWithoutScopeHidden "tools_without_scope_hidden" "CETP2-7.2-01"
            "A tool other than fixture_secret whose scope the caller lacks is hidden from it.";
        AuditTellsMore "audit_tells_more" "CETP2-7.2-04"
            "The audit has an event for each stage of a call.";
        // Found by reading the vectors with other providers in mind.
        ReadsBindTheirId "reads_bind_their_request_id" "CETP2-6-03"
            "The request_id of a read is recorded as that of a write is: with other content it is INVALID_REQUEST.";
        ApprovalNeedsNoToken "approval_needs_no_token" "CETP2-4.3-09"
            "An empty resume_token is none, and a call that the user has approved is executed without its token.";
        WaitingCallConflict "waiting_call_conflict" "CETP2-4.3-09"
            "A call that waits for the user and is sent again without its token is CONFLICT.";
        RestartEndsQuestions "restart_ends_questions" "CETP2-4.3-07"
            "Questions to the user and their tokens end with the process.";
        CallsTakeTurns "calls_take_turns" "CETP2-6-12"
            "The calls of a session are worked on one after another, whatever max_concurrent_requests says.";
        ShortSessions "short_sessions" "CETP2-2.2-10"
            "Sessions end after thirty seconds.";
        // Found with another provider, written in Go from the text.
        EarlyResumeUnavailable "early_resume_unavailable" "CETP2-4.3-09"
            "Coming back with the token before the user has decided is UNAVAILABLE.";
        ApprovalExecutes "approval_executes" "CETP2-4.3-09"
            "A call is executed when the user approves it, and coming back fetches the result.";
        LongResumeTokens "long_resume_tokens" "CETP2-4.3-07"
            "A resume token is valid for a week, longer than records are kept.";
        LateRefusalsKept "late_refusals_kept" "CETP2-6-04"
            "DEADLINE_EXCEEDED is recorded, and repeated whatever the deadline is then.";
        SecretDenied "secret_denied" "CETP2-3.4-08"
            "Any missing scope is PERMISSION_DENIED: the user is never asked for one.";
        OneCallAtATime "one_call_at_a_time" "CETP2-6-12"
            "The whole provider works on one call at a time, and another is RATE_LIMITED.";
        HugeInlineLimit "huge_inline_limit" "CETP2-2.2-14"
            "max_inline_result_bytes is above the largest result of the fixture.";
        JobsRunAtOnce "jobs_run_at_once" "CETP2-4.4-14"
            "A sync_or_async tool is synchronous in every session.";
        EveryWriteAsks "every_write_asks" "CETP2-3.4-06"
            "The user is asked about every write.";
    }
}

/// Leeways that the specification allows and the page of the fixture does not: a vector may not be able to go on, and no
/// vector may hold them for wrong.
pub const OFF_PAGE: [&str; 2] = ["jobs_run_at_once", "every_write_asks"];

/// A set of the provider's switches; empty for a conforming provider.
pub type Switches = crate::registry::Switches<Fault, Leeway>;

#[cfg(test)]
mod tests {
    #[test]
    fn the_registry_is_sound() {
        crate::registry::check::<super::Fault, super::Leeway>();
    }
}
