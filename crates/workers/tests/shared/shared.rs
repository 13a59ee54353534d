//! What the tests in memory and those with a real NATS share.

pub(crate) mod calls;
pub(crate) mod conformance;
pub(crate) mod jobs;
pub(crate) mod leaving;
pub(crate) mod losses;
pub(crate) mod members;
pub(crate) mod nodes;
pub(crate) mod partitions;
pub(crate) mod refusals;

/// Makes a test of each function of the modules below, with these arguments of `#[tokio::test]`.
macro_rules! worker_tests {
    ($arguments:tt) => {
        worker_tests! { $arguments
            calls:
                every_ending_comes_back_as_it_was,
                who_stops_waiting_stops_the_tool,
                progress_comes_in_order_and_before_the_answer,
                what_surrounds_a_call_goes_along;
            losses:
                a_lost_call_is_told_as_lost_and_asked_again_only_where_that_does_no_harm,
                a_worker_that_comes_back_late_is_told_to_stop_and_not_believed;
            refusals:
                a_worker_that_is_full_refuses_and_others_are_asked,
                a_refusal_is_told_as_what_it_is,
                nobody_there_is_known_at_once;
            leaving:
                running_calls_finish_and_those_that_do_not_are_cancelled,
                workers_come_and_go_and_every_call_runs_once;
            members:
                tools_are_listed_as_the_workers_have_them,
                nobody_is_unknown_before_somebody_has_looked,
                what_changes_at_a_worker_changes_here,
                a_worker_that_leaves_or_dies_is_gone,
                calls_are_shared_among_the_workers_of_a_group,
                of_tools_that_differ_the_newest_counts,
                a_server_of_the_config_keeps_its_name_and_others_servers_leave_groups_alone;
            partitions:
                each_group_is_in_one_stream,
                a_node_with_another_number_is_refused,
                changes_of_all_partitions_are_followed;
        }
    };
    ($arguments:tt $($module:ident: $($test:ident),+;)+) => {
        $(mod $module {
            $(#[tokio::test $arguments]
            async fn $test() {
                crate::shared::$module::$test(crate::TestServers::start()).await;
            })+
        })+
    };
}
