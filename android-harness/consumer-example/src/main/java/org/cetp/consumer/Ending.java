package org.cetp.consumer;

import org.cetp.shim.Outcome;

/** Why an execution brings no value. */
final class Ending extends Exception {
    private static final long serialVersionUID = 1L;

    /** Instead of a code that the specification does not have. */
    static final String UNKNOWN_CODE = "UNKNOWN_ERROR_CODE";

    /** The tool may have had its effect or not (§4.1, §6). */
    static final String OUTCOME_UNKNOWN = "OUTCOME_UNKNOWN";

    /** Null for a refusal of our own. */
    final String code;

    private Ending(String code, String message) {
        super(message, null, false, false);
        this.code = code;
    }

    /** This consumer does not do it, or does not take what came. */
    static Ending refused(String why) {
        return new Ending(null, why);
    }

    static Ending error(String code, String message) {
        return new Ending(code, message);
    }

    static Ending unknown(String why) {
        return new Ending(OUTCOME_UNKNOWN, why + ". Whether the tool had its effect is not known.");
    }

    Outcome toOutcome() {
        return code == null ? Outcome.refused(getMessage()) : Outcome.error(code, getMessage());
    }
}
