//! Ways to break or bend the provider, the host and the admission, each by name. The main type is [`Switches`].
//!
//! As in [`crate::switches`]: a *fault* breaks one requirement and must be noticed by a vector about it; a *leeway* is another
//! behaviour that the text allows, and no vector may mind. The requirement says whose switch it is (`AW1-P`, `-H`, `-A`).

use crate::registry::registry;

registry! {
    /// Behaviours that break the protocol.
    Fault {
        ReadsOneLine "reads_one_line" "AW1-P-01" "Reads standard input up to the first line end.";
        NeedsNewline "needs_newline" "AW1-P-01" "Refuses a request that does not end in a line end.";
        ReadsOnce "reads_once" "AW1-P-01" "Stops reading at the first 4096 bytes.";
        LivesOn "lives_on" "AW1-P-02" "Does not exit after its reply.";
        RepliesTwice "replies_twice" "AW1-P-03" "Writes its reply twice.";
        LogsToStdout "logs_to_stdout" "AW1-P-04" "Writes a line of its log to standard output before the reply.";
        NonzeroOnOk "nonzero_on_ok" "AW1-P-05" "Exits 1 after a successful description.";
        BlockExitsTwo "block_exits_two" "AW1-P-06" "Exits 2 when it requests a block.";
        ErrorExitsOne "error_exits_one" "AW1-P-07" "Exits 1 with an error reply.";
        ReplyTooLong "reply_too_long" "AW1-P-08" "Pads its replies with blanks beyond 1 MiB.";
        ReplyTooDeep "reply_too_deep" "AW1-P-09" "Adds a member that is nested 40 levels deep.";
        ReplyHasDuplicate "reply_has_duplicate" "AW1-P-10" "Writes status twice.";
        ReplyHasBom "reply_has_bom" "AW1-P-11" "Begins its replies with a byte order mark.";
        ReplyHasHugeNumber "reply_has_huge_number" "AW1-P-11" "Adds a member with the number 1e999.";
        ReplyHasBadUtf8 "reply_has_bad_utf8" "AW1-P-11" "Adds a member with a byte that is no UTF-8.";
        ReplyHasExtra "reply_has_extra" "AW1-P-12" "Adds a member elapsed_ms to its replies.";
        OtherVersion "other_version" "AW1-P-13" "Answers with api_version aw-provider/v1.";
        ConstantId "constant_id" "AW1-P-14" "Answers every request with the same request_id.";
        StatusSuccess "status_success" "AW1-P-15" "Writes status success.";
        ErrorWithEffects "error_with_effects" "AW1-P-16" "An error carries an empty list of effects.";
        ErrorWithoutCode "error_without_code" "AW1-P-16" "An error carries no error_code.";
        ErrorCodeIsSentence "error_code_is_sentence" "AW1-P-17" "error_code is a sentence with blanks.";
        NoOperations "no_operations" "AW1-P-18" "describe declares an empty list.";
        ManyOperations "many_operations" "AW1-P-18" "describe declares 65 operations.";
        OperationTwice "operation_twice" "AW1-P-19" "describe declares an operation twice.";
        OperationNameBlank "operation_name_blank" "AW1-P-19" "An operation's name has a blank in it.";
        UnknownEvent "unknown_event" "AW1-P-20" "An operation declares an event that there is not.";
        EventTwice "event_twice" "AW1-P-20" "An operation declares an event twice.";
        UnknownEffect "unknown_effect" "AW1-P-21" "An operation declares the effect deny.";
        NoEffects "no_effects" "AW1-P-21" "An operation declares no effect.";
        OperationDescribed "operation_described" "AW1-P-22" "An operation has a member description.";
        ConfigEchoed "config_echoed" "AW1-P-23" "validate_config returns the configuration.";
        AnyConfigAccepted "any_config_accepted" "AW1-P-24" "validate_config accepts any object.";
        ConfigOfAnyType "config_of_any_type" "AW1-P-24" "validate_config accepts a configuration that is no object.";
        DigestInUppercase "digest_in_uppercase" "AW1-P-25" "input_digest comes back in uppercase.";
        DigestOfOther "digest_of_other" "AW1-P-25" "input_digest is computed over the configuration alone.";
        EffectsLeftOut "effects_left_out" "AW1-P-26" "Without effects the member is left out.";
        ManyEffects "many_effects" "AW1-P-26" "An allowed call has 65 observe effects.";
        AskUnasked "ask_unasked" "AW1-P-27" "Adds the effect ask, allowed or not.";
        BlockUnasked "block_unasked" "AW1-P-27" "Blocks where block is not allowed.";
        EffectWithMessage "effect_with_message" "AW1-P-28" "An effect has a member message.";
        ReasonIsSentence "reason_is_sentence" "AW1-P-29" "reason_code is a sentence with blanks.";
        NeutralInsteadOfBlock "neutral_instead_of_block" "AW1-P-30" "Where block is not allowed, a match is a neutral success.";
        UnknownOperationNeutral "unknown_operation_neutral" "AW1-P-31" "An unknown operation succeeds without effects.";
        BadConfigNeutral "bad_config_neutral" "AW1-P-32" "An invalid configuration at invoke succeeds without effects.";
        FailureBlocks "failure_blocks" "AW1-P-33" "Where its rules cannot be read it blocks.";
        FailureIsNeutral "failure_is_neutral" "AW1-P-33" "Where its rules cannot be read it succeeds without effects.";
        NullIdsRefused "null_ids_refused" "AW1-P-34" "Refuses a call whose session_id is null.";
        IdsInUtf16 "ids_in_utf16" "AW1-P-34" "Counts the characters of an id in UTF-16.";
        CrashesOnScalars "crashes_on_scalars" "AW1-P-35" "Crashes where tool.input is no object.";
        InfersShell "infers_shell" "AW1-P-36" "Takes any tool whose input has a command for a shell, and blocks it.";
        AsciiOnly "ascii_only" "AW1-P-37" "Refuses names that are not ASCII.";
        NarrowIntegers "narrow_integers" "AW1-P-37" "Refuses integers that do not fit i64.";
        NativeBelieved "native_believed" "AW1-P-38" "Takes request_id from event.native where it has one.";
        NativeApproves "native_approves" "AW1-P-38" "Does not block where event.native says that the call was approved.";
        NativeDecides "native_decides" "AW1-P-38" "Takes effects from event.native where it has some.";
        NativeBreaks "native_breaks" "AW1-P-38" "Refuses a call whose event.native has a member effects.";
        ControlsAccepted "controls_accepted" "AW1-P-39" "Reads control characters that stand raw in a text.";
        BadUtf8Replaced "bad_utf8_replaced" "AW1-P-39" "Reads U+FFFD where a byte is no UTF-8.";
        DuplicatesAccepted "duplicates_accepted" "AW1-P-39" "Of a member that occurs twice the last counts.";
        SecondDocumentIgnored "second_document_ignored" "AW1-P-39" "Reads the first document and ignores the rest.";
        EmptyIsDescribe "empty_is_describe" "AW1-P-39" "Without any input it describes itself.";
        UnknownFieldsAccepted "unknown_fields_accepted" "AW1-P-40" "Ignores unknown members of a request.";
        VersionUnchecked "version_unchecked" "AW1-P-40" "Does not look at api_version.";
        UnknownMethodDescribes "unknown_method_describes" "AW1-P-40" "Answers an unknown method with a description.";
        IdInvented "id_invented" "AW1-P-40" "Answers a request without request_id under an id of its own.";
        SizeUnchecked "size_unchecked" "AW1-P-41" "Reads requests of any length.";
        SizeInCharacters "size_in_characters" "AW1-P-41" "Counts the length of a request in characters.";
        SmallLimit "small_limit" "AW1-P-41" "Refuses requests above 64 KiB.";
        DepthUnchecked "depth_unchecked" "AW1-P-42" "Reads requests of any depth.";
        BomAccepted "bom_accepted" "AW1-P-42" "Skips a byte order mark.";
        OutputsHeld "outputs_held" "AW1-P-44" "Leaves a process behind that holds its standard output.";
        HangsOnInvoke "hangs_on_invoke" "AW1-P-44" "Takes longer than any budget to answer an invoke.";
        ConfigInErrorCode "config_in_error_code" "AW1-P-45" "error_code repeats the setting that it refuses.";
        DescribeWrites "describe_writes" "AW1-P-46" "describe writes a file into its folder.";
        ReplaceWithoutText "replace_without_text" "AW1-P-47" "replace_result carries no text.";
        TextIsObject "text_is_object" "AW1-P-47" "The text of replace_result is an object.";
        ObserveWithText "observe_with_text" "AW1-P-48" "observe carries a text.";
        BlockWithEmptyText "block_with_empty_text" "AW1-P-48" "block carries an empty text.";
        ReplacesTwice "replaces_twice" "AW1-P-49" "Two replacements in one reply.";
        ReplacesBlindly "replaces_blindly" "AW1-P-50" "Replaces the result where there is no projection.";

        ShellExpands "shell_expands" "AW1-H-01" "Runs argv through a shell.";
        ArgumentsTrimmed "arguments_trimmed" "AW1-H-01" "Blanks around an argument are taken off.";
        OneProcess "one_process" "AW1-H-02" "Asks a provider everything in one process.";
        StdinOpen "stdin_open" "AW1-H-03" "Does not close standard input.";
        WritesTwice "writes_twice" "AW1-H-03" "Writes the request twice.";
        SendsUnchecked "sends_unchecked" "AW1-H-04" "Sends requests without looking at their size.";
        SendsExtraMember "sends_extra_member" "AW1-H-04" "Requests have a member trace.";
        LongRequestsUnsent "long_requests_unsent" "AW1-H-04" "Requests above 1,000,000 bytes are not sent.";
        ResultParsed "result_parsed" "AW1-H-04" "A result that is a text with JSON in it is sent as that JSON.";
        InputAsText "input_as_text" "AW1-H-04" "The input of a tool is sent as a text.";
        NamesLowered "names_lowered" "AW1-H-04" "The native name of a tool is sent in lower case.";
        AfterInputDropped "after_input_dropped" "AW1-H-04" "After a tool has run its input is sent as null.";
        StepIsOperation "step_is_operation" "AW1-H-04" "operation is the id of the step.";
        ProjectionForAll "projection_for_all" "AW1-H-04" "A step that replaces nothing is given the projection as well.";
        SameId "same_id" "AW1-H-05" "Every call of a provider has the same request_id.";
        IdWithBlank "id_with_blank" "AW1-H-05" "request_id has a blank in it.";
        DigestInsertionOrder "digest_insertion_order" "AW1-H-06" "The digest is taken over members in another order.";
        DigestWithoutPrefix "digest_without_prefix" "AW1-H-06" "input_digest has no prefix.";
        RevisionOfValue "revision_of_value" "AW1-H-07" "config_revision is taken over the configuration written anew.";
        BudgetNotReduced "budget_not_reduced" "AW1-H-08" "Every step gets the whole budget.";
        BudgetZero "budget_zero" "AW1-H-08" "budget_ms is rounded down to seconds.";
        StepsStartAnew "steps_start_anew" "AW1-H-08" "The time of the event begins anew for every step.";
        ProviderTimeoutIgnored "provider_timeout_ignored" "AW1-H-09" "The provider's timeout does not count.";
        EventBudgetIgnored "event_budget_ignored" "AW1-H-09" "The event's budget does not count.";
        CallerDeadlineIgnored "caller_deadline_ignored" "AW1-H-09" "The caller's deadline does not count.";
        ResultBefore "result_before" "AW1-H-10" "Before a tool runs, result is an empty object.";
        IdsOmitted "ids_omitted" "AW1-H-11" "Missing ids are left out.";
        IdsEmpty "ids_empty" "AW1-H-11" "Missing ids are empty texts.";
        AllEffectsAllowed "all_effects_allowed" "AW1-H-12" "allowed_effects is all that the provider declares.";
        FirstEffectsForAll "first_effects_for_all" "AW1-H-12" "allowed_effects are those of the first step.";
        ConfigThroughFloats "config_through_floats" "AW1-H-13" "Numbers of the private configuration become doubles.";
        FirstConfigForAll "first_config_for_all" "AW1-H-13" "Every provider is invoked with the configuration of the first.";
        ExitIgnored "exit_ignored" "AW1-H-14" "The exit status is not looked at.";
        SignalIgnored "signal_ignored" "AW1-H-14" "The end by a signal counts as status 0.";
        OptionalNeverFails "optional_never_fails" "AW1-H-14" "The failure of a step that is not required is a success.";
        LastDocumentCounts "last_document_counts" "AW1-H-15" "Of several documents the last counts.";
        IdUnchecked "id_unchecked" "AW1-H-15" "The response's request_id is not compared.";
        DigestUnchecked "digest_unchecked" "AW1-H-15" "The response's input_digest is not compared.";
        InvalidIsBlock "invalid_is_block" "AW1-H-15" "An answer that cannot be read counts as a block.";
        DuplicatesRead "duplicates_read" "AW1-H-15" "Of a member that occurs twice the last counts.";
        LongCodesRefused "long_codes_refused" "AW1-H-15" "A reason_code of more than 64 characters is refused.";
        NullIsNeutral "null_is_neutral" "AW1-H-15" "The output null is a success without effects.";
        TrailingCommaRead "trailing_comma_read" "AW1-H-15" "A comma before the end of an object is passed over.";
        VersionTrimmed "version_trimmed" "AW1-H-15" "Blanks around api_version are passed over.";
        IdTrimmed "id_trimmed" "AW1-H-15" "Blanks around request_id are passed over.";
        DigestTrimmed "digest_trimmed" "AW1-H-15" "Blanks around input_digest are passed over.";
        IdCaseIgnored "id_case_ignored" "AW1-H-15" "The case of request_id does not count.";
        DigestCaseIgnored "digest_case_ignored" "AW1-H-15" "The case of input_digest does not count.";
        EarlierIdsAccepted "earlier_ids_accepted" "AW1-H-15" "A response may carry the id of any earlier request.";
        EarlierDigestsAccepted "earlier_digests_accepted" "AW1-H-15" "A response may carry the digest of any earlier request.";
        DigestBareRead "digest_bare_read" "AW1-H-15" "input_digest may lack its prefix.";
        DigestNeededForEffects "digest_needed_for_effects" "AW1-H-15" "Without effects input_digest is not compared.";
        NullMembersDropped "null_members_dropped" "AW1-H-15" "Unknown members that are null are passed over.";
        CodesTrimmed "codes_trimmed" "AW1-H-15" "A line end after reason_code is passed over.";
        TextsRefused "texts_refused" "AW1-H-15" "An effect with a text is refused.";
        TextsUnchecked "texts_unchecked" "AW1-H-15" "The text of an effect is not looked at.";
        ReplacementsUncounted "replacements_uncounted" "AW1-H-15" "Of several replacements the first counts.";
        ProjectionNotNeeded "projection_not_needed" "AW1-H-15" "A replacement without a projection is passed over.";
        CodeShown "code_shown" "AW1-H-16" "The shown message repeats the provider's error_code.";
        CodeReplaced "code_replaced" "AW1-H-16" "The provider's error_code is replaced by one of the host's own.";
        ErrorIsSuccess "error_is_success" "AW1-H-16" "An error of the provider is a success without effects.";
        InputShown "input_shown" "AW1-H-16" "The message of a failure shows the input of the tool.";
        OnErrorIsBlock "on_error_is_block" "AW1-H-17" "on_error block turns a failure into the policy's block.";
        ActionAlwaysReport "action_always_report" "AW1-H-17" "The action that is told is report, whatever on_error says.";
        UnadmittedDropped "unadmitted_dropped" "AW1-H-18" "An effect that is not admitted is left out, and the rest counts.";
        OutputUncapped "output_uncapped" "AW1-H-19" "max_output_bytes is not kept.";
        OutputCut "output_cut" "AW1-H-19" "Output beyond the cap is cut off.";
        StderrUncapped "stderr_uncapped" "AW1-H-20" "Standard error has no cap.";
        LateCounts "late_counts" "AW1-H-21" "A result that comes after the deadline counts.";
        CancelIgnored "cancel_ignored" "AW1-H-21" "Cancelling does not end a call.";
        EventTimeOnlyTold "event_time_only_told" "AW1-H-21" "budget_ms is right, but only the limit of the provider ends a call.";
        RunningCounts "running_counts" "AW1-H-21" "What a process that still runs has written at its deadline is its result.";
        GraceCounts "grace_counts" "AW1-H-21" "What comes after SIGTERM and an exit with status 0 is a result.";
        UnwrittenIgnored "unwritten_ignored" "AW1-H-22" "An exit before the request was written is not noticed.";
        EofNotNeeded "eof_not_needed" "AW1-H-23" "What was read when the process ends is the output.";
        WaitsForDescendants "waits_for_descendants" "AW1-H-23" "A descendant that holds no pipe fails the call.";
        PreflightLast "preflight_last" "AW1-H-24" "Providers are described before the configuration is looked at.";
        PreparedPerStep "prepared_per_step" "AW1-H-25" "A provider is prepared once for each step.";
        DisabledPrepared "disabled_prepared" "AW1-H-25" "Providers of disabled steps are prepared as well.";
        ValidatedFirst "validated_first" "AW1-H-25" "validate_config comes before describe.";
        PreparationOptional "preparation_optional" "AW1-H-26" "A provider that cannot be prepared is left out.";
        ManyOperationsRefused "many_operations_refused" "AW1-H-26" "A description of 64 operations is refused.";
        FirstPreparedAnyway "first_prepared_anyway" "AW1-H-26" "The first provider need not describe itself.";
        EvidenceEventIgnored "evidence_event_ignored" "AW1-H-26" "An operation may be declared for another event.";
        OperationCaseIgnored "operation_case_ignored" "AW1-H-26" "The case of an operation does not count.";
        FirstStepAdmitted "first_step_admitted" "AW1-H-26" "Only the first step is compared with what is declared.";
        OptionalStepsAdmitted "optional_steps_admitted" "AW1-H-26" "Steps that are not required are not compared with what is declared.";
        BindingUnchecked "binding_unchecked" "AW1-H-27" "Events of any binding are carried out.";
        AdapterUnchecked "adapter_unchecked" "AW1-H-27" "Events of any adapter are carried out.";
        Retries "retries" "AW1-H-28" "A failed step is tried once more.";
        RetriesLate "retries_late" "AW1-H-28" "A step that was not done in time is tried once more.";
        EmptyGrants "empty_grants" "AW1-H-29" "A success without effects grants the call.";
        ObserveGrants "observe_grants" "AW1-H-29" "A success that observes grants the call.";
        FailureGrants "failure_grants" "AW1-H-29" "A failure grants the call.";
        AnyEffectBlocks "any_effect_blocks" "AW1-H-29" "Any effect blocks.";
        LastStepBlocks "last_step_blocks" "AW1-H-29" "Only the last step decides whether the policy blocks.";
        EffectsDeduped "effects_deduped" "AW1-H-29" "Of several effects of a type one is told.";
        EnvironmentInherited "environment_inherited" "AW1-H-30" "Providers inherit the environment.";
        FolderInherited "folder_inherited" "AW1-H-30" "Providers run in the host's own folder.";
        HomeInherited "home_inherited" "AW1-H-30" "Providers inherit HOME.";
        NotEnded "not_ended" "AW1-H-31" "A process that failed is left alone.";
        OnlyLeaderKilled "only_leader_killed" "AW1-H-31" "Only the process itself is killed, not its group.";
        KilledAtOnce "killed_at_once" "AW1-H-31" "SIGKILL comes without SIGTERM before it.";
        LeftAfterExit "left_after_exit" "AW1-H-31" "After an exit with another status than 0 the group is left alone.";
        LeftAfterCancel "left_after_cancel" "AW1-H-31" "After a call was cancelled its group is left alone.";
        OnlyLeaderAwaited "only_leader_awaited" "AW1-H-31" "SIGKILL does not come where the process itself has ended.";
        SelectorsIgnored "selectors_ignored" "AW1-H-32" "Every step is called for every tool.";
        SkippedIsCalled "skipped_is_called" "AW1-H-32" "A step whose selectors miss is called, and its result dropped.";

        AnyTarget "any_target" "AW1-A-01" "An unknown target is admitted.";
        AdapterUncompared "adapter_uncompared" "AW1-A-02" "The adapter of the evidence is not compared.";
        BlankEvidence "blank_evidence" "AW1-A-02" "Version and entrypoint may be blank.";
        EvidenceUnchecked "evidence_unchecked" "AW1-A-03" "Adapter evidence may claim anything.";
        AnyGuarantee "any_guarantee" "AW1-A-04" "Any guarantee is admitted.";
        OptionalEventDropped "optional_event_dropped" "AW1-A-05" "Other events are dropped where nothing in them is required.";
        EmptyEventDropped "empty_event_dropped" "AW1-A-05" "Other events without steps are dropped.";
        StepsDecideEvent "steps_decide_event" "AW1-A-06" "An event without steps needs no adapter evidence.";
        GuardsIgnored "guards_ignored" "AW1-A-07" "Guards are not looked at.";
        OptionalGuardsIgnored "optional_guards_ignored" "AW1-A-07" "Guards that are not required are not looked at.";
        DisabledNeedEvidence "disabled_need_evidence" "AW1-A-08" "Disabled steps need evidence as well.";
        EvidenceOptional "evidence_optional" "AW1-A-09" "A step without provider evidence is dropped.";
        NumbersEqual "numbers_equal" "AW1-A-10" "1 and 1.0 are the same configuration.";
        ValidationOptional "validation_optional" "AW1-A-10" "Without a validated configuration there is nothing to compare.";
        ConfigUncompared "config_uncompared" "AW1-A-10" "The validated configuration is not compared.";
        OperationUnchecked "operation_unchecked" "AW1-A-11" "The operation need not be declared.";
        OperationEventUnchecked "operation_event_unchecked" "AW1-A-11" "The operation need not declare the event.";
        EffectsIntersected "effects_intersected" "AW1-A-11" "Effects that the operation lacks are dropped.";
        AdapterEffectsUnchecked "adapter_effects_unchecked" "AW1-A-12" "The adapter need not support the effect.";
        AskAdmitted "ask_admitted" "AW1-A-13" "ask is admitted.";
        BlockAfterAdmitted "block_after_admitted" "AW1-A-13" "block is admitted after the tool has run.";
        BlockOnErrorAnywhere "block_on_error_anywhere" "AW1-A-14" "on_error block is admitted everywhere.";
        BlockOnErrorNeedsEffect "block_on_error_needs_effect" "AW1-A-14" "on_error block is admitted only for steps that request block.";
        UnknownActionAdmitted "unknown_action_admitted" "AW1-A-14" "Any on_error is admitted.";
        WithholdUndeclared "withhold_undeclared" "AW1-A-15" "withhold_result is admitted undeclared.";
        StepsSorted "steps_sorted" "AW1-A-16" "Steps come back sorted by id.";
        AnyTransport "any_transport" "AW1-A-17" "Any transport is admitted.";
        AnyLocation "any_location" "AW1-A-17" "Any location is admitted.";
        AnyProtocol "any_protocol" "AW1-A-17" "Any protocol is admitted.";
        TellsReady "tells_ready" "AW1-A-18" "Success says ready.";
        ReasonLeaks "reason_leaks" "AW1-A-18" "The reason repeats the private configuration.";
        NoReason "no_reason" "AW1-A-18" "A rejection has no reason.";
        ExactRefused "exact_refused" "AW1-A-19" "native selectors are refused.";
        EventSelectorsUnchecked "event_selectors_unchecked" "AW1-A-19" "Selectors of an event are not checked.";
        GlobsAccepted "globs_accepted" "AW1-A-19" "A native selector may end in a star.";
        ReplaceAnywhere "replace_anywhere" "AW1-A-20" "replace_result need not be the last step.";
        ReplaceTwice "replace_twice" "AW1-A-20" "Two steps may replace the result.";
        ReplaceUnsupported "replace_unsupported" "AW1-A-20" "replace_result needs no adapter support.";
        ReplaceByHook "replace_by_hook" "AW1-A-20" "A boolean hook may request replace_result.";
        SelectorsRefused "selectors_refused" "AW1-A-21" "An event with match.tools is refused.";
        StarWithOthers "star_with_others" "AW1-A-21" "A star may stand among others.";
    }
}

registry! {
    /// Behaviours that the text allows beside the usual one.
    Leeway {
        SilentOnGarbage "silent_on_garbage" "AW1-P-39" "What is no request gets no reply, and exit status 2.";
        ErrorsByExit "errors_by_exit" "AW1-P-24" "An error has no reply: exit status 1, and words on standard error.";
        DigestUnverified "digest_unverified" "AW1-P-43" "The provider does not verify input_digest.";
        ReplyPretty "reply_pretty" "AW1-P-03" "Replies are written over several lines, with blanks around them.";
        ReplyEscaped "reply_escaped" "AW1-P-03" "Replies write every character that is not ASCII as an escape.";
        ReasonOmitted "reason_omitted" "AW1-P-28" "Effects have no reason_code.";
        ObservesAlways "observes_always" "AW1-P-26" "Every call has an observe effect where that is allowed.";
        Chatty "chatty" "AW1-P-04" "Writes many lines to standard error.";
        BlockWithText "block_with_text" "AW1-P-48" "block carries a text.";

        RequestPretty "request_pretty" "AW1-H-03" "Requests are written over several lines, with a line end.";
        EffectsReversed "effects_reversed" "AW1-H-12" "allowed_effects comes in another order.";
        StopsAfterBlock "stops_after_block" "AW1-H-29" "After a block the event's later steps are not run.";
        TellsLittle "tells_little" "AW1-H-16" "The account has no messages.";
        EarlyDeadline "early_deadline" "AW1-H-09" "Every deadline is 50 ms earlier.";

        OneReason "one_reason" "AW1-A-18" "Every rejection has the same reason.";
        EventsReversed "events_reversed" "AW1-A-16" "Events come back in another order.";
    }
}

/// A set of switches; empty for a conforming implementation.
pub type Switches = crate::registry::Switches<Fault, Leeway>;

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn the_registry_is_sound() {
        crate::registry::check::<Fault, Leeway>();
    }

    #[test]
    fn every_must_has_a_fault() {
        let ledger: serde_json::Value =
            serde_json::from_str(include_str!("../../../../vectors/requirements/aw-provider-v1alpha1.json")).unwrap();
        let broken: BTreeSet<_> = Fault::ALL.iter().map(|(info, _)| info.rests_on).collect();
        for row in ledger["requirements"].as_array().unwrap().iter().filter(|row| row["strength"] == "must") {
            assert!(broken.contains(row["id"].as_str().unwrap()), "no fault breaks {}", row["id"]);
        }
    }
}
