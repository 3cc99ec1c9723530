//! Ways to break or bend the consumer, each by name. The main type is [`Switches`].
//!
//! To add one, write a row in the registry below and make it act. Where it can act from outside, on what goes out or comes
//! in, it belongs into `distort/platform.rs`; else one line at its place calls into `distort`, so that the protocol's own
//! code stays readable.

use crate::registry::registry;

registry! {
    /// Behaviours that break the specification.
    Fault {
        // Discovery.
        VersionIntIgnored "version_int_ignored" "CETP2-2.1-02"
            "A `version` that is an Int is not read.";
        VersionAloneIgnored "version_alone_ignored" "CETP2-2.1-02"
            "A manifest without `versions` offers nothing.";
        VersionWins "version_wins" "CETP2-2.1-03"
            "`version` counts where both are there.";
        VersionsUnited "versions_united" "CETP2-2.1-03"
            "`version` is added to `versions`.";
        VersionsIntIgnored "versions_int_ignored" "CETP2-2.1-03"
            "A `versions` that is an Int is not read, and `version` counts.";
        ForeignAuthorityUsed "foreign_authority_used" "CETP2-2.1-06"
            "The authority may be another package's.";
        FirstVersionOnly "first_version_only" "CETP2-2.1-07"
            "Only the first version of `versions` is read.";
        VersionsUntrimmed "versions_untrimmed" "CETP2-2.1-07"
            "A version after a space is not read.";
        VersionsSearched "versions_searched" "CETP2-2.1-07"
            "`versions` holds version 2 where it holds the digit.";
        UnsupportedUsed "unsupported_used" "CETP2-2.1-09"
            "A provider without a common version is used in version 1.";
        // Negotiation.
        AsksBeforeNegotiating "asks_before_negotiating" "CETP2-2.2-01"
            "get_provider_info is called before negotiate.";
        VersionsAscending "versions_ascending" "CETP2-2.2-02"
            "consumer_versions is [1, 2].";
        VersionsAsList "versions_as_list" "CETP2-2.2-02"
            "consumer_versions is an ArrayList of Integer.";
        CapabilitiesAsArray "capabilities_as_array" "CETP2-2.2-03"
            "consumer_capabilities is a String array.";
        CapabilitiesAsWords "capabilities_as_words" "CETP2-2.2-03"
            "consumer_capabilities is a text with commas.";
        SelectedVersionUnchecked "selected_version_unchecked" "CETP2-2.2-15"
            "Whatever version was selected, it is taken for 2.";
        TokenMissingAccepted "token_missing_accepted" "CETP2-2.2-15"
            "A missing session_token is made up.";
        TokenUnbounded "token_unbounded" "CETP2-2.2-15"
            "A session_token may have any length.";
        TokenInCharacters "token_in_characters" "CETP2-2.2-15"
            "The length of session_token is counted in characters.";
        NegotiateTypesCoerced "negotiate_types_coerced" "CETP2-2.2-15"
            "Members of the reply to negotiate that have the wrong type are converted, or left out.";
        RenegotiatesForEver "renegotiates_for_ever" "CETP2-2.2-20"
            "Every NEGOTIATION_REQUIRED is followed by a negotiation and a repetition.";
        ResentWithoutNegotiating "resent_without_negotiating" "CETP2-2.2-20"
            "After NEGOTIATION_REQUIRED the call is repeated in the same session.";
        RenegotiatedNewId "renegotiated_new_id" "CETP2-2.2-20"
            "The repetition after a negotiation has a new request_id.";
        InFlightUnlimited "in_flight_unlimited" "CETP2-2.2-21"
            "max_concurrent_requests is not heeded.";
        SurplusCapabilitiesUsed "surplus_capabilities_used" "CETP2-2.3-01"
            "No capability is offered, and those that the reply names are used.";
        CancelsUnnegotiated "cancels_unnegotiated" "CETP2-2.3-01"
            "cancel_operation is called without its capability.";
        OfferTakenForAgreed "offer_taken_for_agreed" "CETP2-2.3-01"
            "What was offered counts as negotiated.";
        // Identity.
        RoutedByToolName "routed_by_tool_name" "CETP2-3.1-03"
            "A call goes to the first provider found that has a tool of that name.";
        RoutedByLabel "routed_by_label" "CETP2-3.1-03"
            "Of providers with one label the last one found gets the calls.";
        CancelsByTool "cancels_by_tool" "CETP2-3.1-03"
            "A wish to cancel is taken for every open execution of a tool of that name.";
        CancelsLatest "cancels_latest" "CETP2-3.1-03"
            "A wish to cancel is taken for the execution that began last.";
        CancelsOldest "cancels_oldest" "CETP2-3.1-03"
            "A wish to cancel is taken for the execution that began first.";
        NamespaceUnchecked "namespace_unchecked" "CETP2-3.1-04"
            "Any provider_id is believed.";
        NamespaceByPrefix "namespace_by_prefix" "CETP2-3.1-04"
            "A provider_id is believed that begins with the letters of the package.";
        CustomIdRefused "custom_id_refused" "CETP2-3.1-04"
            "Only the package itself is taken for a provider_id.";
        InfoIdUnchecked "info_id_unchecked" "CETP2-3.1-04"
            "get_provider_info may tell any provider_id.";
        FirstClaimWins "first_claim_wins" "CETP2-3.1-05"
            "Of two packages with one provider_id the first one found is used.";
        LastClaimWins "last_claim_wins" "CETP2-3.1-05"
            "Of two packages with one provider_id the last one found is used.";
        // Descriptors.
        OuterReferencesTaken "outer_references_taken" "CETP2-3.2-07"
            "A schema reference that leads out of the document accepts anything.";
        RelativeReferencesTaken "relative_references_taken" "CETP2-3.2-07"
            "A schema reference without a scheme accepts anything.";
        DialectUnchecked "dialect_unchecked" "CETP2-3.2-07"
            "Schemas of any dialect are read as Draft 2020-12.";
        UnknownToolFieldRefused "unknown_tool_field_refused" "CETP2-3.2-08"
            "A tool with an unknown member is refused.";
        UnknownInfoFieldRefused "unknown_info_field_refused" "CETP2-3.2-08"
            "A provider whose description or scopes have an unknown member is refused.";
        MissingAnnotationsDefaulted "missing_annotations_defaulted" "CETP2-3.2-09"
            "Missing annotations have defaults.";
        MissingScopesDefaulted "missing_scopes_defaulted" "CETP2-3.2-09"
            "A tool without scopes needs none.";
        MissingSchemasDefaulted "missing_schemas_defaulted" "CETP2-3.2-09"
            "A tool without a schema accepts and gives anything.";
        MissingTextsDefaulted "missing_texts_defaulted" "CETP2-3.2-09"
            "Missing names of the provider and descriptions are empty.";
        MissingScopeFieldsDefaulted "missing_scope_fields_defaulted" "CETP2-3.2-09"
            "A scope without access and sensitivity reads what is public.";
        MissingRevisionDefaulted "missing_revision_defaulted" "CETP2-3.2-09"
            "A list of tools without a revision is used.";
        UnknownEffectIsRead "unknown_effect_is_read" "CETP2-3.2-10"
            "An unknown effect counts as read.";
        UnknownRiskIsLow "unknown_risk_is_low" "CETP2-3.2-10"
            "An unknown risk counts as low.";
        UnknownConfirmationIsNever "unknown_confirmation_is_never" "CETP2-3.2-10"
            "An unknown confirmation counts as never.";
        EnumCaseIgnored "enum_case_ignored" "CETP2-3.2-10"
            "READ is read, HIGH is high.";
        RevisionUnchecked "revision_unchecked" "CETP2-3.3-04"
            "After a new negotiation the known tools are used without asking.";
        CacheIgnoresRevision "cache_ignores_revision" "CETP2-3.3-04"
            "The known tools are used whatever the revision is.";
        GraveRuleUnchecked "grave_rule_unchecked" "CETP2-3.4-04"
            "A grave tool without confirmation=always is used.";
        GraveRuleForRiskOnly "grave_rule_for_risk_only" "CETP2-3.4-04"
            "Only risk=high makes a tool grave.";
        // Calls.
        VersionAsLong "version_as_long" "CETP2-4.1-01"
            "protocol_version is a Long.";
        DeadlineInSeconds "deadline_in_seconds" "CETP2-4.1-01"
            "deadline_at_ms counts seconds.";
        DeadlineAsText "deadline_as_text" "CETP2-4.1-01"
            "deadline_at_ms is a String.";
        IdIsNoUuid "id_is_no_uuid" "CETP2-4.1-01"
            "request_id has no hyphens.";
        ReadsWithoutEnvelope "reads_without_envelope" "CETP2-4.1-01"
            "get_provider_info and list_tools carry no request_id and no deadline.";
        SizeUnchecked "size_unchecked" "CETP2-4.1-05"
            "Arguments of any size are sent.";
        SizeInCharacters "size_in_characters" "CETP2-4.1-05"
            "The size of arguments is counted in characters.";
        PollsUnderNewId "polls_under_new_id" "CETP2-4.1-07"
            "get_operation has a request_id of its own.";
        CancelsUnderNewId "cancels_under_new_id" "CETP2-4.1-07"
            "cancel_operation has a request_id of its own.";
        RepeatedReadNewId "repeated_read_new_id" "CETP2-4.1-09"
            "A repeated call of a tool that reads has a new request_id.";
        ReadsShareId "reads_share_id" "CETP2-4.1-09"
            "Every call of a tool that reads has the same request_id.";
        TimeoutNewId "timeout_new_id" "CETP2-4.1-11"
            "After a time-out the repetition has a new request_id.";
        DeadlineNewId "deadline_new_id" "CETP2-4.1-11"
            "After DEADLINE_EXCEEDED the call is repeated under a new request_id.";
        NoAnswerNewId "no_answer_new_id" "CETP2-4.1-11"
            "After a null or empty Bundle the repetition has a new request_id.";
        DeathNewId "death_new_id" "CETP2-6-07"
            "After the death of the provider the repetition has a new request_id.";
        TokenEncoded "token_encoded" "CETP2-4.1-01"
            "get_operation and cancel_operation carry the session_token percent-encoded.";
        OperationIdLowered "operation_id_lowered" "CETP2-4.1-07"
            "cancel_operation carries the operation_id in lower case.";
        // Results.
        TextsObeyed "texts_obeyed" "CETP2-4.2-03"
            "A text of the provider that names one of its tools and says to call it is obeyed.";
        MessageAsValue "message_as_value" "CETP2-4.2-03"
            "An error's message is handed on as if the tool had given it.";
        OutputUnchecked "output_unchecked" "CETP2-4.2-04"
            "An inline value is not validated.";
        OutputCheckedShallowly "output_checked_shallowly" "CETP2-4.2-04"
            "Only the type of a value is validated.";
        OutputKeywordsFew "output_keywords_few" "CETP2-4.2-04"
            "Of a schema only types, members, elements and bounds are validated.";
        OutputLengthsUnchecked "output_lengths_unchecked" "CETP2-4.2-04"
            "Lengths and numbers of elements and members are not validated.";
        EchoUnchecked "echo_unchecked" "CETP2-4.2-05"
            "A reply may name any request_id.";
        EchoOfAcceptedUnchecked "echo_of_accepted_unchecked" "CETP2-4.2-05"
            "A reply that accepts may name any request_id.";
        EchoOfErrorsUnchecked "echo_of_errors_unchecked" "CETP2-4.2-05"
            "A reply with an error may name any request_id.";
        VersionEchoUnchecked "version_echo_unchecked" "CETP2-4.2-05"
            "A reply may name any protocol_version.";
        // The user.
        ResumesUnlaunched "resumes_unlaunched" "CETP2-4.3-12"
            "The call is resumed without showing the provider's screen.";
        ResumesWhileShown "resumes_while_shown" "CETP2-4.3-12"
            "The call is resumed while the provider's screen is still shown.";
        ResumedNewId "resumed_new_id" "CETP2-4.3-12"
            "The resumed call has a new request_id.";
        ResumeRewritesArgs "resume_rewrites_args" "CETP2-4.3-12"
            "The resumed call has its arguments written anew.";
        ResumeTokenLost "resume_token_lost" "CETP2-4.3-12"
            "The resumed call has no resume_token.";
        ResumeTokenInvented "resume_token_invented" "CETP2-4.3-12"
            "Where the provider gave no resume_token the call is resumed with one that was made up.";
        ResumeTokenDecoded "resume_token_decoded" "CETP2-4.3-12"
            "A plus sign in a resume_token is sent as a blank.";
        AuthorizeIntentFollowed "authorize_intent_followed" "CETP2-4.3-14"
            "The action string of version 1 is launched.";
        ForeignScreenShown "foreign_screen_shown" "CETP2-4.3-15"
            "A resolution of another package is launched.";
        AsksAgain "asks_again" "CETP2-4.3-16"
            "A user who left the screen is asked again and again.";
        RepeatedWithoutUser "repeated_without_user" "CETP2-4.3-16"
            "USER_ACTION_REQUIRED and AUTH_REQUIRED without a resolution are repeated.";
        // Operations.
        ProgressIsSuccess "progress_is_success" "CETP2-4.4-05"
            "An operation at 100 of 100 has succeeded.";
        CancelTakenForCancelled "cancel_taken_for_cancelled" "CETP2-4.4-07"
            "An accepted cancellation counts as cancelled.";
        CancelEndsPolling "cancel_ends_polling" "CETP2-4.4-07"
            "After cancel_operation nobody asks for the state.";
        PollsWithoutWaiting "polls_without_waiting" "CETP2-4.4-15"
            "get_operation is called again at once.";
        OtherOperationAccepted "other_operation_accepted" "CETP2-4.4-19"
            "A state may be of another operation.";
        UnknownStateIsCancelled "unknown_state_is_cancelled" "CETP2-4.4-19"
            "An unknown state counts as cancelled.";
        SucceededWithoutResult "succeeded_without_result" "CETP2-4.4-19"
            "An operation that succeeded without a result gives null.";
        OperationResultUnchecked "operation_result_unchecked" "CETP2-4.4-19"
            "The result of an operation is not validated.";
        AnnotationTakenForAgreed "annotation_taken_for_agreed" "CETP2-4.4-20"
            "An operation of a tool that may be asynchronous is followed in any session.";
        UnnegotiatedFollowed "unnegotiated_followed" "CETP2-4.4-20"
            "An operation is followed that was not negotiated.";
        // Files.
        LongerFileAccepted "longer_file_accepted" "CETP2-4.5-07"
            "What follows after the declared size is ignored.";
        ShorterFileAccepted "shorter_file_accepted" "CETP2-4.5-07"
            "A file may be shorter than declared.";
        DigestUnchecked "digest_unchecked" "CETP2-4.5-08"
            "The digest is not compared.";
        DigestBeginningOnly "digest_beginning_only" "CETP2-4.5-08"
            "Of a digest the first eight digits are compared.";
        DigestPrefixOnly "digest_prefix_only" "CETP2-4.5-08"
            "The digest is compared as far as it goes.";
        FileTextHandedOn "file_text_handed_on" "CETP2-4.5-09"
            "A file that is not JSON is handed on as text.";
        FileSchemaUnchecked "file_schema_unchecked" "CETP2-4.5-09"
            "The content of a file is not validated.";
        ReadLimitDeclared "read_limit_declared" "CETP2-4.5-10"
            "The only limit for reading is the declared size.";
        ReadFileLeftOpen "read_file_left_open" "CETP2-4.5-11"
            "A file that was read to its end is not closed.";
        UnreadFileLeftOpen "unread_file_left_open" "CETP2-4.5-11"
            "A file that was refused before its end is not closed.";
        MediaTypeUnchecked "media_type_unchecked" "CETP2-4.5-12"
            "A file may be of any media type.";
        FileUnnegotiated "file_unnegotiated" "CETP2-4.5-12"
            "A file is taken without large_results.";
        // Errors.
        UnretryableRepeated "unretryable_repeated" "CETP2-5-06"
            "Every error is repeated, whatever retryable says.";
        UnretryableReadsRepeated "unretryable_reads_repeated" "CETP2-5-06"
            "A tool that reads is repeated whatever retryable says.";
        UnretryableSetupRepeated "unretryable_setup_repeated" "CETP2-5-06"
            "negotiate, get_provider_info and list_tools are repeated whatever retryable says.";
        PollErrorIgnored "poll_error_ignored" "CETP2-4.4-19"
            "An error of get_operation means that the operation goes on.";
        RepeatedForEver "repeated_for_ever" "CETP2-5-06"
            "An error with retryable=true is repeated a hundred times.";
        RetryAfterIgnored "retry_after_ignored" "CETP2-5-07"
            "retry_after_ms is not heeded.";
        RetryAfterCapped "retry_after_capped" "CETP2-5-07"
            "No repetition waits for more than a second.";
        SetupRetryAfterIgnored "setup_retry_after_ignored" "CETP2-5-07"
            "retry_after_ms is not heeded by negotiate, get_provider_info and list_tools.";
        PollRetryAfterIgnored "poll_retry_after_ignored" "CETP2-5-07"
            "retry_after_ms is not heeded by get_operation.";
        ArgumentErrorRepeated "argument_error_repeated" "CETP2-5-08"
            "INVALID_ARGS with retryable=true is repeated.";
        DenialRepeated "denial_repeated" "CETP2-5-08"
            "PERMISSION_DENIED with retryable=true is repeated.";
        RetryableAssumed "retryable_assumed" "CETP2-5-09"
            "A missing retryable is true.";
        RetryableCoerced "retryable_coerced" "CETP2-5-09"
            "A retryable that is a text or a number may be true.";
        MalformedErrorCrashes "malformed_error_crashes" "CETP2-5-09"
            "An error without a code ends the consumer.";
        // Strangers.
        DescriptionUnbounded "description_unbounded" "CETP2-7.3-01"
            "Descriptions have any length.";
        MessageUnbounded "message_unbounded" "CETP2-7.3-01"
            "Messages of errors have any length.";
        DataUnbounded "data_unbounded" "CETP2-7.3-01"
            "Results have any length.";
        ToolNameUnchecked "tool_name_unchecked" "CETP2-7.3-01"
            "Names of tools have any form and length.";
        JsonLenient "json_lenient" "CETP2-7.3-02"
            "Text after a JSON document is ignored.";
        TypesCoerced "types_coerced" "CETP2-7.3-02"
            "data may be bytes, status may be anything that has a text.";
        DeepDataCrashes "deep_data_crashes" "CETP2-7.3-02"
            "Deeply nested data ends the consumer.";
        TrustMissing "trust_missing" "CETP2-7.3-03"
            "Values are not labelled.";
        TrustFromValue "trust_from_value" "CETP2-7.3-03"
            "A value that speaks as the system or the user is labelled so.";
        // Versions.
        V1BesideV2 "v1_beside_v2" "CETP2-8-01"
            "A dual-stack provider is used in version 1.";
        DowngradesOnFailure "downgrades_on_failure" "CETP2-8-02"
            "Where the negotiation fails, version 1 is used.";
        DowngradesOnDenial "downgrades_on_denial" "CETP2-8-02"
            "Where a call is denied, version 1 is called.";
        FailedNegotiationIgnored "failed_negotiation_ignored" "CETP2-8-04"
            "Where the negotiation fails, tools are listed and called without a session.";
        OldSessionStays "old_session_stays" "CETP2-8-04"
            "Where a new negotiation fails, the session before it is used on.";
        LegacyIgnored "legacy_ignored" "CETP2-8-06"
            "Providers of version 1 are not used.";
        LegacyNegotiated "legacy_negotiated" "CETP2-8-06"
            "negotiate is called at providers of version 1.";
        LegacyExtras "legacy_extras" "CETP2-8-06"
            "list_tools of version 1 carries the fields of version 2.";
        LegacyInputSchema "legacy_input_schema" "CETP2-8-06"
            "Tools of version 1 are refused for want of an input_schema.";
    }
}

registry! {
    /// Behaviours that the specification allows beside the usual one.
    Leeway {
        OddVersionTokenDropped "odd_version_token_dropped" "CETP2-2.1-07"
            "A token of `versions` that is no number is dropped instead of refusing the provider.";
        OffersTwoOnly "offers_two_only" "CETP2-2.2-02"
            "consumer_versions holds 2 alone.";
        LowLimitObeyed "low_limit_obeyed" "CETP2-2.2-15"
            "A limit below its minimum is obeyed.";
        NeverRenegotiates "never_renegotiates" "CETP2-2.2-20"
            "NEGOTIATION_REQUIRED is reported as an error.";
        AsyncToolsNeedCapability "async_tools_need_capability" "CETP2-2.3-01"
            "A sync_or_async tool is refused where async_operations was not negotiated.";
        DoubleClaimRefusesAll "double_claim_refuses_all" "CETP2-3.1-05"
            "A provider_id that two apps claim is refused to both.";
        OneBadToolRefusesAll "one_bad_tool_refuses_all" "CETP2-3.2-09"
            "One tool that cannot be used refuses its provider.";
        UnknownValuesStrictest "unknown_values_strictest" "CETP2-3.2-10"
            "An unknown execution, access or sensitivity is read as the strictest.";
        LongDeadline "long_deadline" "CETP2-4.1-01"
            "deadline_at_ms is an hour away.";
        ArgumentsUnchecked "arguments_unchecked" "CETP2-4.1-05"
            "Arguments are sent without validation; the provider refuses them.";
        GivesUpAfterDeath "gives_up_after_death" "CETP2-4.1-11"
            "A call without an answer is not repeated.";
        EchoWantedEverywhere "echo_wanted_everywhere" "CETP2-4.2-05"
            "Every reply of version 2 but that of negotiate must echo.";
        LeavingIsCancelling "leaving_is_cancelling" "CETP2-4.3-12"
            "A user who leaves the screen ends the execution with USER_CANCELLED.";
        UserErrorRepeatedOnce "user_error_repeated_once" "CETP2-4.3-16"
            "USER_ACTION_REQUIRED and AUTH_REQUIRED without a resolution but with retryable=true are repeated once.";
        SyncToolsStaySync "sync_tools_stay_sync" "CETP2-4.4-20"
            "An operation of a tool that declares sync is refused.";
        UppercaseDigest "uppercase_digest" "CETP2-4.5-08"
            "A digest in uppercase is read.";
        InlineLimitChecked "inline_limit_checked" "CETP2-4.2-04"
            "Inline data above the negotiated limit is refused.";
        NeverRepeats "never_repeats" "CETP2-5-06"
            "No error is repeated.";
        RetryableBelieved "retryable_believed" "CETP2-5-06"
            "retryable=true is believed for codes whose table says no, unless they are about arguments or permission.";
        ManyRetries "many_retries" "CETP2-5-06"
            "An error is repeated up to twelve times.";
        ArgumentErrorOnce "argument_error_once" "CETP2-5-08"
            "INVALID_ARGS with retryable=true is repeated once.";
        UnknownCodeRepeated "unknown_code_repeated" "CETP2-5-09"
            "An unknown code with retryable=true is repeated.";
        LongTexts "long_texts" "CETP2-7.3-01"
            "Descriptions are cut at 60,000 characters.";
        DuplicateMembersHandled "duplicate_members_handled" "CETP2-7.3-02"
            "The last of several members counts, and deeper nesting is read.";
        EmptyLegacyExtras "empty_legacy_extras" "CETP2-8-06"
            "list_tools of version 1 has an empty Bundle.";
    }
}

/// A set of the consumer's switches; empty for a conforming consumer.
pub type Switches = crate::registry::Switches<Fault, Leeway>;

#[cfg(test)]
mod tests {
    #[test]
    fn the_registry_is_sound() {
        crate::registry::check::<super::Fault, super::Leeway>();
    }

    #[test]
    fn every_obligation_that_vectors_judge_has_a_fault() {
        let ledger: serde_json::Value =
            serde_json::from_str(include_str!("../../../../vectors/requirements/cetp-v2.json")).unwrap();
        let rows = ledger["requirements"].as_array().unwrap();
        let missing: Vec<_> = rows
            .iter()
            .filter(|row| row["role"] == "consumer" && row["judged_by"] == "vector" || row["id"] == "CETP2-4.3-14")
            .filter_map(|row| row["id"].as_str())
            .filter(|id| !super::Fault::ALL.iter().any(|(info, _)| info.rests_on == *id))
            .collect();
        assert!(missing.is_empty(), "{missing:?}");
    }
}
