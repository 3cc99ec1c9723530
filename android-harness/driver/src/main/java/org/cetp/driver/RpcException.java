package org.cetp.driver;

/** A request that is answered with an error of JSON-RPC. */
public final class RpcException extends Exception {
    private static final long serialVersionUID = 1L;

    /** There is no such verb. */
    public static final int NO_SUCH_VERB = -32601;
    /** The parameters do not fit the verb. */
    public static final int INVALID_PARAMS = -32602;
    /** The verb cannot act now. */
    public static final int CANNOT_ACT = -32000;

    public final int code;

    public RpcException(int code, String message) {
        super(message);
        this.code = code;
    }

    public static RpcException cannotAct(String message) {
        return new RpcException(CANNOT_ACT, message);
    }

    public static RpcException invalidParams(String message) {
        return new RpcException(INVALID_PARAMS, message);
    }
}
