%% Makes the retained messages that one node of a cluster takes known to the others.
%%
%% mod_mqtt shares the messages themselves between nodes, but looks for those of a new subscription in a list of topics
%% that each node keeps for itself (table mqtt_topic_cache), written only by the node that took the message, and read in
%% whole only when a node starts. Without this, who subscribes at another node gets none of what came since.
%%
%% Made for ejabberd 23.01.
-module(mod_posture).
-export([start/2, stop/1, reload/3, depends/2, mod_options/1, mod_doc/0, published/3]).

%% As in mod_mqtt: a hook is given the packet as it came.
-record(publish, {id, dup, qos, retain, topic, payload, properties, meta}).

start(Host, _Options) ->
    ejabberd_hooks:add(mqtt_publish, Host, ?MODULE, published, 50).

stop(Host) ->
    ejabberd_hooks:delete(mqtt_publish, Host, ?MODULE, published, 50).

reload(_Host, _New, _Old) -> ok.

depends(_Host, _Options) -> [{mod_mqtt, hard}].

mod_options(_Host) -> [].

mod_doc() -> #{desc => <<"Makes retained MQTT messages known on every node of a cluster.">>}.

published({_, Host, _}, #publish{retain = true, topic = Topic, payload = Payload}, _Expiry) ->
    Others = ejabberd_cluster:get_nodes() -- [node()],
    Key = {lists:join($/, binary:split(Topic, <<"/">>, [global])), Host},
    case Payload of
        <<>> -> erpc:multicast(Others, ets, delete, [mqtt_topic_cache, Key]);
        _ -> erpc:multicast(Others, ets, insert, [mqtt_topic_cache, {Key, Topic}])
    end;
published(_, _, _) ->
    ok.
