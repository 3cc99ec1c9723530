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
        ScopesRemembered "scopes_remembered" "CETP2-7.2-02"
            "Scopes are checked at a UID's first call of a tool and then taken as given.";
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
        InlineAboveLimit "inline_above_limit" "CETP2-4.5-01"
            "A result above the inline limit is put into the Bundle.";
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
        CertificateIgnored "certificate_ignored" "CETP2-7.1-03"
            "A grant holds under another signing certificate.";
        QuestionWithoutObject "question_without_object" "CETP2-7.2-03"
            "The confirmation shows the tool's title only.";

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
        CommittedFails "committed_fails" "CETP2-6-10"
            "An operation whose effect was committed when the process died has failed afterwards.";
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
        TokenByPrefix "token_by_prefix" "CETP2-4.3-17"
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
        EchoMissing "echo_missing_in_errors" "CETP2-5-01"
            "Error Bundles have no request_id.";
        EchoOfUuidsOnly "echo_of_uuids_only" "CETP2-5-01"
            "A request_id that is no UUID is not echoed.";
        EchoInLowerCase "echo_in_lower_case" "CETP2-5-01"
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
        GreyZoneInline "grey_zone_inline" "CETP2-4.5-01"
            "Inline is what has a value of at most the limit, whatever the envelope adds.";
        SmallResultsAsFile "small_results_as_file" "CETP2-4.5-02"
            "Every result comes as a file where large_results was negotiated.";
        RateLimited "rate_limited" "CETP2-6-12"
            "Above max_concurrent_requests the answer is RATE_LIMITED instead of a place in the queue.";
        RotationAccepted "rotation_accepted" "CETP2-7.1-07"
            "A grant holds under a certificate whose history holds the granted one.";

        // Deduplication, confirmation and errors.
        UnavailableAboveLimit "unavailable_above_limit" "CETP2-6-12"
            "Above max_concurrent_requests the answer is UNAVAILABLE instead of a place in the queue.";
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
