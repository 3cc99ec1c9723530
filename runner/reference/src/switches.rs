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
    }
}

/// A set of the provider's switches; empty for a conforming provider.
pub type Switches = crate::registry::Switches<Fault, Leeway>;

#[cfg(test)]
mod tests {
    #[test]
    fn the_registry_is_sound() {
        crate::registry::check::<super::Fault, super::Leeway>();
    }
}
