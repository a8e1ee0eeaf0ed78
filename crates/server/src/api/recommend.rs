//! Recommendations.

use model::limits::{DEFAULT_RECOMMENDATIONS, MAX_RECOMMENDATIONS};
use service::{RecommendQuery, Recommended};
use socialgraph::v1::{
    DismissRecommendationRequest, DismissRecommendationResponse, RecommendFollowsRequest, RecommendFollowsResponse,
    Recommendation,
};
use tonic::{Request, Response, Status};

use super::{
    Api,
    consistency::freshness,
    deadline,
    fields::Fields,
    status::{self_reference, status},
};

pub(super) async fn recommend(
    api: &Api,
    request: Request<RecommendFollowsRequest>,
) -> Result<Response<RecommendFollowsResponse>, Status> {
    let deadline = deadline(&request);
    let RecommendFollowsRequest { user_id, limit, time_budget, consistency } = request.into_inner();
    let mut fields = Fields::default();
    let query = RecommendQuery {
        user: fields.user("user_id", user_id),
        limit: fields.number_of("limit", limit, DEFAULT_RECOMMENDATIONS, MAX_RECOMMENDATIONS),
        time_budget: fields.time_budget(time_budget),
    };
    let freshness = freshness(&api.graph, &mut fields, consistency);
    fields.finish()?;
    let read = || api.graph.recommend(query, deadline);
    let found = api.graph.fresh(freshness, deadline, read).await.map_err(status)?;
    let recommendations = found.users.into_iter().map(recommendation).collect();
    Ok(Response::new(RecommendFollowsResponse { recommendations, complete: found.complete }))
}

fn recommendation(recommended: Recommended) -> Recommendation {
    Recommendation {
        user_id: recommended.user.get(),
        mutual_count: recommended.mutual_count.cast_signed(),
        mutual_user_ids: recommended.mutuals.into_iter().map(|user| user.get()).collect(),
        score: recommended.score,
    }
}

pub(super) async fn dismiss(
    api: &Api,
    request: Request<DismissRecommendationRequest>,
) -> Result<Response<DismissRecommendationResponse>, Status> {
    let deadline = deadline(&request);
    let DismissRecommendationRequest { user_id, dismissed_id } = request.into_inner();
    let mut fields = Fields::default();
    let user = fields.user("user_id", user_id);
    let dismissed = fields.user("dismissed_id", dismissed_id);
    fields.finish()?;
    if user == dismissed {
        return Err(self_reference("dismissed_id", "a user is never recommended to themselves"));
    }
    api.graph.dismiss(user, dismissed, deadline).await.map_err(status)?;
    Ok(Response::new(DismissRecommendationResponse {}))
}
