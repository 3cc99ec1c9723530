package org.cetp.driver.device;

import android.content.ComponentName;
import android.content.Context;
import android.content.Intent;
import android.content.ServiceConnection;
import android.os.Build;
import android.os.IBinder;
import android.os.Parcel;
import android.os.ParcelFileDescriptor;
import android.os.RemoteException;
import android.util.Log;
import java.io.IOException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.cetp.driver.Rpc;

/**
 * The way from the front driver to the app of another caller. The Binder hands over one end of a socket pair and is then
 * out of the way: replies that fill a transaction on their way from the provider need not fit into another one.
 */
final class PeerLink {
    /** The one transaction: the target's package in, a descriptor out. */
    static final int OPEN = IBinder.FIRST_CALL_TRANSACTION;

    static final String DESCRIPTOR = "org.cetp.driver.PeerLink";

    private static final long PATIENCE_SECONDS = 10;

    private PeerLink() {}

    /** Null where that app is not installed. */
    static Rpc connect(Context context, String packageName, String target) throws IOException {
        final CountDownLatch connected = new CountDownLatch(1);
        final IBinder[] binder = new IBinder[1];
        ServiceConnection connection =
                new ServiceConnection() {
                    @Override
                    public void onServiceConnected(ComponentName name, IBinder service) {
                        binder[0] = service;
                        connected.countDown();
                    }

                    @Override
                    public void onServiceDisconnected(ComponentName name) {
                        Log.w(SocketServer.TAG, name.getPackageName() + " is gone");
                    }
                };
        Intent intent = new Intent().setComponent(new ComponentName(packageName, DriverService.class.getName()));
        int flags = Context.BIND_AUTO_CREATE;
        if (Build.VERSION.SDK_INT >= 34) {
            flags |= Context.BIND_ALLOW_ACTIVITY_STARTS; // the other app opens resolutions too
        }
        if (!context.bindService(intent, connection, flags)) {
            context.unbindService(connection);
            return null;
        }
        try {
            if (!connected.await(PATIENCE_SECONDS, TimeUnit.SECONDS)) {
                throw new IOException(packageName + " does not come up");
            }
            return open(binder[0], packageName, target);
        } catch (InterruptedException | RemoteException failure) {
            throw new IOException(packageName + ": " + failure);
        }
    }

    private static Rpc open(IBinder binder, String packageName, String target) throws RemoteException {
        Parcel request = Parcel.obtain();
        Parcel reply = Parcel.obtain();
        try {
            request.writeInterfaceToken(DESCRIPTOR);
            request.writeString(target);
            binder.transact(OPEN, request, reply, 0);
            reply.readException();
            ParcelFileDescriptor socket = ParcelFileDescriptor.CREATOR.createFromParcel(reply);
            return start(socket, packageName);
        } finally {
            reply.recycle();
            request.recycle();
        }
    }

    private static Rpc start(ParcelFileDescriptor socket, final String packageName) {
        final Rpc rpc =
                new Rpc(
                        new ParcelFileDescriptor.AutoCloseInputStream(socket),
                        new java.io.FileOutputStream(socket.getFileDescriptor()),
                        new Rpc.Handler() {
                            @Override
                            public void handle(Rpc.Request request) {
                                Log.w(SocketServer.TAG, packageName + " asks for something: " + request.method);
                            }
                        });
        Thread reader =
                new Thread("driver-link") {
                    @Override
                    public void run() {
                        try {
                            rpc.run();
                        } catch (IOException ended) {
                            Log.i(SocketServer.TAG, packageName + ": " + ended.getMessage());
                        }
                    }
                };
        reader.setDaemon(true);
        reader.start();
        return rpc;
    }
}
